//! The product code of one crate: its files, found from the root by `mod` declarations, and which of
//! them import from which.

use std::collections::BTreeMap;

use super::modules::Target;
use super::scan::{self, Found, How, Named, Open};
use super::source::Source;
use crate::failure::Result;
use crate::tidy::Tree;

/// For each file, the files that it imports from and the line of the first import.
pub(crate) type Imports = BTreeMap<usize, BTreeMap<usize, usize>>;

/// The product code of a crate.
pub(crate) struct Package {
    /// The name of its folder.
    pub(crate) name: String,
    /// Its files.
    pub(crate) sources: Vec<Source>,
    /// Which file imports from which, by their places in `sources`.
    pub(crate) imports: Imports,
}

impl Package {
    /// Reads the crate in the folder `crates/NAME`.
    pub(crate) fn read(tree: &Tree, name: &str) -> Result<Self> {
        let folder = format!("crates/{name}/src");
        let roots = tree.under(&folder).filter(|file| is_root(&folder, &file.path));
        let mut found = Found::default();
        found.open.extend(roots.map(|root| Open { path: root.path.clone(), place: None }));
        let mut sources = Vec::new();
        while let Some(open) = found.open.pop() {
            if let Some(file) = tree.file(&open.path) {
                let source = Source::parse(file)?;
                scan::scan(tree, &source, (sources.len(), open.place), &mut found);
                sources.push(source);
            }
        }
        Ok(Self { name: name.to_owned(), imports: imports(&found), sources })
    }

    /// The path of the file, from the folder `src` of the crate.
    pub(crate) fn short_path(&self, file: usize) -> &str {
        let path = self.sources.get(file).map_or("", |source| &source.path);
        path.split_once("/src/").map_or(path, |(_, inner)| inner)
    }
}

fn is_root(folder: &str, path: &str) -> bool {
    let inner = path.strip_prefix(folder).unwrap_or_default();
    inner == "/lib.rs" || inner == "/main.rs" || inner.starts_with("/bin/")
}

/// Which file imports from which, by what each module names.
fn imports(found: &Found) -> Imports {
    let mut imports = Imports::new();
    for Named { module, mention, how } in &found.named {
        let Some(from) = found.modules.file(*module) else { continue };
        for target in found.modules.resolve(*module, &mention.path) {
            let to = match target {
                Target::Item(file) => Some(file),
                // What is used of an imported module is named elsewhere in the file.
                Target::Module(inner) => found.modules.file(inner).filter(|_| *how == How::Glob),
            };
            if let Some(to) = to.filter(|to| *to != from) {
                let line = imports.entry(from).or_default().entry(to).or_insert(mention.line);
                *line = mention.line.min(*line);
            }
        }
    }
    imports
}
