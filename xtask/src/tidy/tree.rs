//! The text files of a checkout, read once. Judges nothing.

use std::fs;
use std::path::Path;

use crate::failure::{Failure, Result};

/// Folders that hold nothing a person wrote here.
const SKIPPED: [&str; 4] = [".git", ".chancery", "node_modules", "target"];

/// The files of a checkout.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: Vec<File>,
}

/// A text file.
#[derive(Debug)]
pub(crate) struct File {
    /// Its path from the root of the checkout, with `/` between the parts.
    pub(crate) path: String,
    /// What it says.
    pub(crate) text: String,
}

impl Tree {
    /// Reads every text file under the root.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.read_folder(root, root)?;
        tree.files.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(tree)
    }

    /// A tree of the given paths and texts.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Self { files: files.iter().map(file).collect() }
    }

    /// Every file.
    pub(crate) fn files(&self) -> &[File] {
        &self.files
    }

    /// Every file of Rust.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.has_ending("rs"))
    }

    /// The file of the path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The files under the folder.
    pub(crate) fn under<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| inside(folder, &file.path))
    }

    /// Whether there is such a file or folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.files.iter().any(|file| file.path == path || inside(path, &file.path))
    }

    fn read_folder(&mut self, root: &Path, folder: &Path) -> Result<()> {
        for entry in fs::read_dir(folder).map_err(Failure::on("list", folder))? {
            let path = entry.map_err(Failure::on("list", folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_symlink() || SKIPPED.contains(&name.as_ref()) {
                continue;
            }
            if path.is_dir() {
                self.read_folder(root, &path)?;
            } else if let Ok(text) = fs::read_to_string(&path) {
                let inner = path.strip_prefix(root).unwrap_or(&path);
                self.files.push(File { path: inner.to_string_lossy().into_owned(), text });
            }
        }
        Ok(())
    }
}

impl File {
    /// Whether the file holds tests or serves them alone.
    pub(crate) fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "tests.rs")
    }

    /// Whether the name ends with a dot and the ending.
    pub(crate) fn has_ending(&self, ending: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, found)| found == ending)
    }

    /// The folder and the name without its ending.
    pub(crate) fn folder_and_stem(&self) -> (&str, &str) {
        let (folder, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        (folder, name.rsplit_once('.').map_or(name, |(stem, _)| stem))
    }

    /// The lines with their numbers.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

fn inside(folder: &str, path: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
