//! One way through the syntax tree of a file: the modules in it, what each defines and imports, and
//! the paths that it names.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMacro, ItemMod, ItemUse, Macro, Meta, Path, Visibility};

use super::modules::Modules;
use super::paths::{self, Import, Mention, Name};
use super::source::Source;
use crate::tidy::Tree;

/// What the files of a crate that were scanned so far hold.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The modules.
    pub(crate) modules: Modules,
    /// The paths that they name.
    pub(crate) named: Vec<Named>,
    /// The files that they declare and that are not scanned yet.
    pub(crate) open: Vec<Open>,
}

/// A path that a module names.
#[derive(Debug)]
pub(crate) struct Named {
    /// The module.
    pub(crate) module: usize,
    /// The path.
    pub(crate) mention: Mention,
    /// How it is named.
    pub(crate) how: How,
}

/// How a module names a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// By an import of one name, or where it is used.
    Plain,
    /// By an import of every name of the module at its end.
    Glob,
}

/// A file to be scanned.
#[derive(Debug)]
pub(crate) struct Open {
    /// Its path from the root of the checkout.
    pub(crate) path: String,
    /// The module that declares it and its name there; none for the root of a crate.
    pub(crate) place: Option<(usize, String)>,
}

/// Scans the file with the number, which the module of the place declares.
pub(crate) fn scan(
    tree: &Tree,
    source: &Source,
    (file, place): (usize, Option<(usize, String)>),
    found: &mut Found,
) {
    let folder = folder_of_children(&source.path, place.is_none());
    let module = found.modules.add(file, place.as_ref().map(|(parent, _)| *parent));
    if let Some((parent, name)) = place {
        found.modules.contain(parent, name, module);
    }
    let mut scan = Scan { tree, source, found, file, module, folder };
    scan.define(&source.syntax.items);
    scan.visit_file(&source.syntax);
}

/// The folder in which the modules that a file declares have their files.
fn folder_of_children(path: &str, is_root: bool) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.strip_suffix(".rs").unwrap_or(name);
    if is_root || stem == "mod" { folder.to_owned() } else { format!("{folder}/{stem}") }
}

/// One way through a file.
struct Scan<'a> {
    tree: &'a Tree,
    source: &'a Source,
    found: &'a mut Found,
    file: usize,
    /// The module that the scan is in.
    module: usize,
    /// The folder of the files of its modules.
    folder: String,
}

impl Scan<'_> {
    /// Notes the names that the items of the module define.
    fn define(&mut self, items: &[Item]) {
        let source = self.source;
        for item in items.iter().filter(|item| source.is_product(item.span().start().line)) {
            let name = match item {
                Item::Const(item) => &item.ident,
                Item::Enum(item) => &item.ident,
                Item::Fn(item) => &item.sig.ident,
                Item::Static(item) => &item.ident,
                Item::Struct(item) => &item.ident,
                Item::Trait(item) => &item.ident,
                Item::Type(item) => &item.ident,
                Item::Union(item) => &item.ident,
                Item::Macro(ItemMacro { ident: Some(name), attrs, .. }) => {
                    if attrs.iter().any(|found| found.path().is_ident("macro_export")) {
                        let root = self.found.modules.root(self.module);
                        self.found.modules.define(root, name.to_string(), self.file);
                    }
                    name
                }
                _ => continue,
            };
            self.found.modules.define(self.module, name.to_string(), self.file);
        }
    }

    fn note(&mut self, mention: Mention, how: How) {
        if self.source.is_product(mention.line) {
            self.found.named.push(Named { module: self.module, mention, how });
        }
    }

    fn import(&mut self, import: Import, is_private: bool) {
        if !self.source.is_product(import.mention.line) {
            return;
        }
        let Import { mention, name } = import;
        let path = mention.path.clone();
        let how = if name == Name::All { How::Glob } else { How::Plain };
        match name {
            Name::One(name) => self.found.modules.import(self.module, name, path),
            Name::All => self.found.modules.import_all(self.module, path),
            Name::Nameless => (),
        }
        // A re-export makes a name known and uses nothing. Where the file uses the name itself, the
        // path there counts.
        if is_private {
            self.note(mention, how);
        }
    }

    /// The path of the file of a module that is declared here.
    fn file_of(&self, name: &str) -> Option<String> {
        let folder = &self.folder;
        let paths = [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")];
        paths.into_iter().find(|path| self.tree.file(path).is_some())
    }
}

impl<'ast> Visit<'ast> for Scan<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !self.source.is_product(item.span().start().line) {
            return;
        }
        let name = item.ident.to_string();
        let Some((_, items)) = &item.content else {
            // Helpers of tests have this name, and the product has no use for them.
            let path = self.file_of(&name).filter(|_| name != "testing");
            let place = Some((self.module, name));
            self.found.open.extend(path.map(|path| Open { path, place }));
            return;
        };
        let (outer, folder) = (self.module, self.folder.clone());
        self.module = self.found.modules.add(self.file, Some(outer));
        self.found.modules.contain(outer, name.clone(), self.module);
        self.folder = format!("{folder}/{name}");
        self.define(items);
        visit::visit_item_mod(self, item);
        (self.module, self.folder) = (outer, folder);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        for import in paths::imports(item) {
            self.import(import, matches!(item.vis, Visibility::Inherited));
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if path.leading_colon.is_none() {
            let names = path.segments.iter().map(|segment| segment.ident.to_string());
            let line = path.span().start().line;
            self.note(Mention { path: names.collect(), line }, How::Plain);
        }
        visit::visit_path(self, path);
    }

    fn visit_item_macro(&mut self, item: &'ast ItemMacro) {
        if item.ident.is_none() {
            return visit::visit_item_macro(self, item);
        }
        // Other paths are looked up where the macro is called.
        for mention in paths::in_tokens(item.mac.tokens.clone()) {
            if mention.path.first().is_some_and(|name| name == "crate") {
                self.note(mention, How::Plain);
            }
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        for mention in paths::in_tokens(call.tokens.clone()) {
            self.note(mention, How::Plain);
        }
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            for mention in paths::in_tokens(list.tokens.clone()) {
                self.note(mention, How::Plain);
            }
        }
        visit::visit_attribute(self, attribute);
    }

    /// `pub(in crate::a)` names a module and imports nothing from it.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}
