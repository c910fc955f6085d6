//! The modules of a crate: which file each is in, which names it has, and what a path in one of them
//! leads to. Follows imports and re-exports to the file with the definition.

use std::collections::{BTreeMap, BTreeSet};

/// The modules of a crate. A module is known by its place in the list.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    modules: Vec<Module>,
}

/// A module, in a file of its own or inline.
#[derive(Debug)]
struct Module {
    file: usize,
    parent: Option<usize>,
    /// A name can stand for several things: a function and a module, for example.
    names: BTreeMap<String, BTreeSet<Binding>>,
    globs: Vec<Vec<String>>,
}

/// What a name in a module stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    /// Something that is defined in the file.
    Item(usize),
    /// A module in it.
    Module(usize),
    /// What the path leads to.
    Import(Vec<String>),
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// Something that is defined in the file.
    Item(usize),
    /// A module.
    Module(usize),
}

/// The names that are being followed. None is followed twice, so that modules which import from each
/// other come to an end.
type Followed = BTreeSet<(usize, String)>;

impl Modules {
    /// Adds an empty module and returns its place.
    pub(crate) fn add(&mut self, file: usize, parent: Option<usize>) -> usize {
        self.modules.push(Module { file, parent, names: BTreeMap::new(), globs: Vec::new() });
        self.modules.len() - 1
    }

    /// Notes that the name is defined in the file and belongs to the module.
    pub(crate) fn define(&mut self, module: usize, name: String, file: usize) {
        self.bind(module, name, Binding::Item(file));
    }

    /// Notes that the module has the other module under the name.
    pub(crate) fn contain(&mut self, module: usize, name: String, inner: usize) {
        self.bind(module, name, Binding::Module(inner));
    }

    /// Notes that the module imports what the path leads to under the name.
    pub(crate) fn import(&mut self, module: usize, name: String, path: Vec<String>) {
        self.bind(module, name, Binding::Import(path));
    }

    /// Notes that the module imports every name of what the path leads to.
    pub(crate) fn import_all(&mut self, module: usize, path: Vec<String>) {
        if let Some(module) = self.modules.get_mut(module) {
            module.globs.push(path);
        }
    }

    /// The file that the module is in.
    pub(crate) fn file(&self, module: usize) -> Option<usize> {
        self.modules.get(module).map(|module| module.file)
    }

    /// The module at the root of the crate.
    pub(crate) fn root(&self, module: usize) -> usize {
        self.parent(module).map_or(module, |parent| self.root(parent))
    }

    /// What the path leads to when it stands in the module; nothing when it leads to another crate.
    pub(crate) fn resolve(&self, module: usize, path: &[String]) -> BTreeSet<Target> {
        self.follow(module, path, &mut Followed::new())
    }

    fn bind(&mut self, module: usize, name: String, binding: Binding) {
        if let Some(module) = self.modules.get_mut(module) {
            module.names.entry(name).or_default().insert(binding);
        }
    }

    fn parent(&self, module: usize) -> Option<usize> {
        self.modules.get(module).and_then(|module| module.parent)
    }

    fn follow(&self, from: usize, path: &[String], followed: &mut Followed) -> BTreeSet<Target> {
        let mut module = from;
        let mut rest = path;
        while let Some((first, others)) = rest.split_first() {
            module = match first.as_str() {
                "crate" => self.root(module),
                "self" => module,
                "super" => self.parent(module).unwrap_or(module),
                _ => break,
            };
            rest = others;
        }
        let found = self.descend(module, rest, followed);
        if found.is_empty() && rest.len() < path.len() {
            // No name of ours, so a macro in that module defines it.
            return self.file(module).map(Target::Item).into_iter().collect();
        }
        found
    }

    /// What the names lead to from the module downwards.
    fn descend(
        &self,
        module: usize,
        names: &[String],
        followed: &mut Followed,
    ) -> BTreeSet<Target> {
        let Some((name, rest)) = names.split_first() else {
            return BTreeSet::from([Target::Module(module)]);
        };
        let Some(within) = self.modules.get(module) else { return BTreeSet::new() };
        let step = (module, name.clone());
        let is_new = followed.insert(step.clone());
        let bindings = within.names.get(name).into_iter().flatten();
        let is_module = |binding: &&Binding| matches!(binding, Binding::Module(_));
        // Where a function and a module have one name, a longer path is the module's, and so is the
        // start of `use decide::decide`.
        let only_modules = !rest.is_empty() && bindings.clone().any(|binding| is_module(&binding));
        let bindings: Vec<&Binding> = bindings
            .filter(|binding| !only_modules || is_module(binding))
            .filter(|binding| is_new || !matches!(binding, Binding::Import(_)))
            .collect();
        if !is_new {
            return self.through(module, &bindings, rest, followed);
        }
        let found = if bindings.is_empty() {
            self.through_globs(module, names, followed)
        } else {
            self.through(module, &bindings, rest, followed)
        };
        followed.remove(&step);
        found
    }

    fn through(
        &self,
        module: usize,
        bindings: &[&Binding],
        rest: &[String],
        followed: &mut Followed,
    ) -> BTreeSet<Target> {
        let here = self.file(module).map(Target::Item);
        let mut found = BTreeSet::new();
        for binding in bindings {
            match binding {
                Binding::Item(file) => drop(found.insert(Target::Item(*file))),
                Binding::Module(inner) => found.extend(self.below(*inner, rest, followed)),
                Binding::Import(path) => {
                    let imported = self.follow(module, path, followed);
                    // What is imported from another crate is defined, for us, where it is imported.
                    if imported.is_empty() {
                        found.extend(here);
                    }
                    for target in imported {
                        match target {
                            Target::Item(_) => drop(found.insert(target)),
                            Target::Module(inner) => {
                                found.extend(self.below(inner, rest, followed));
                            }
                        }
                    }
                }
            }
        }
        found
    }

    /// What the names lead to in a module that has them: a name it does not show is a macro's.
    fn below(&self, module: usize, names: &[String], followed: &mut Followed) -> BTreeSet<Target> {
        let found = self.descend(module, names, followed);
        if found.is_empty() {
            return self.file(module).map(Target::Item).into_iter().collect();
        }
        found
    }

    fn through_globs(
        &self,
        module: usize,
        names: &[String],
        followed: &mut Followed,
    ) -> BTreeSet<Target> {
        let globs = self.modules.get(module).map(|module| module.globs.as_slice());
        let mut found = BTreeSet::new();
        for path in globs.unwrap_or_default() {
            for target in self.follow(module, path, followed) {
                if let Target::Module(inner) = target {
                    found.extend(self.descend(inner, names, followed));
                }
            }
        }
        found
    }
}
