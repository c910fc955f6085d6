//! The paths that a file names: in `use` declarations, and among the tokens of macros, which have no
//! syntax tree.

use proc_macro2::{TokenStream, TokenTree};
use syn::{ItemUse, UseTree};

/// A path and the line it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    /// The names of the path.
    pub(crate) path: Vec<String>,
    /// The line of its last name.
    pub(crate) line: usize,
}

/// One import of a `use` declaration.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// What is imported.
    pub(crate) mention: Mention,
    /// Under which name.
    pub(crate) name: Name,
}

/// The name that an import gives.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// This one.
    One(String),
    /// None, as in `use a::Trait as _`.
    Nameless,
    /// Every name of the module, as in `use a::*`.
    All,
}

/// The imports of the declaration; none when it begins with `::`, which leads to another crate.
pub(crate) fn imports(declaration: &ItemUse) -> Vec<Import> {
    let mut found = Vec::new();
    if declaration.leading_colon.is_none() {
        flatten(&declaration.tree, &[], &mut found);
    }
    found
}

fn flatten(tree: &UseTree, above: &[String], found: &mut Vec<Import>) {
    let with = |name: &syn::Ident| {
        let mut path = above.to_vec();
        // `use a::{self}` imports `a`.
        if above.is_empty() || name != "self" {
            path.push(name.to_string());
        }
        Mention { path, line: name.span().start().line }
    };
    match tree {
        UseTree::Path(tree) => flatten(&tree.tree, &with(&tree.ident).path, found),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, above, found)),
        UseTree::Name(tree) => {
            let mention = with(&tree.ident);
            let name = mention.path.last().cloned().map_or(Name::Nameless, Name::One);
            found.push(Import { mention, name });
        }
        UseTree::Rename(tree) => {
            let name = tree.rename.to_string();
            let name = Some(name).filter(|name| name != "_").map_or(Name::Nameless, Name::One);
            found.push(Import { mention: with(&tree.ident), name });
        }
        UseTree::Glob(tree) => {
            let line = tree.star_token.spans.first().map_or(0, |span| span.start().line);
            let mention = Mention { path: above.to_vec(), line };
            found.push(Import { mention, name: Name::All });
        }
    }
}

/// The paths of two names or more among the tokens, groups included.
pub(crate) fn in_tokens(tokens: TokenStream) -> Vec<Mention> {
    let mut found = Vec::new();
    collect(tokens, &mut found);
    found
}

fn collect(tokens: TokenStream, found: &mut Vec<Mention>) {
    let mut open = Mention { path: Vec::new(), line: 0 };
    let mut colons = 0;
    for token in tokens {
        match &token {
            TokenTree::Ident(name) => {
                if colons != 2 {
                    keep(&mut open, found);
                }
                open.path.push(name.to_string());
                open.line = name.span().start().line;
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' && !open.path.is_empty() => {
                colons += 1;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) | TokenTree::Group(_) => {
                keep(&mut open, found);
                colons = 0;
            }
        }
        if let TokenTree::Group(group) = token {
            collect(group.stream(), found);
        }
    }
    keep(&mut open, found);
}

fn keep(open: &mut Mention, found: &mut Vec<Mention>) {
    let path = std::mem::take(&mut open.path);
    if path.len() > 1 {
        found.push(Mention { path, line: open.line });
    }
}
