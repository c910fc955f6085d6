//! The measures of the code of one file, added up over all files: functions, documentation of public
//! items, calls that can panic, macros.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ExprMethodCall, ImplItem, Item, Macro, Meta, Signature, TraitItemFn};
use syn::{ImplItemFn, ItemFn, Visibility};

use super::lines;
use super::source::Source;

/// The methods that panic on `None` or `Err`.
const PANICKING: [&str; 2] = ["unwrap", "expect"];

/// The measures of some files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Measures {
    /// The lines of each file.
    pub(crate) files: Vec<usize>,
    /// The lines of each function, from its signature to its closing brace.
    pub(crate) functions: Vec<usize>,
    /// How many functions, types, traits, constants and statics are `pub`.
    pub(crate) public: usize,
    /// How many of them have a doc comment.
    pub(crate) documented: usize,
    /// The lines with a comment that is no doc comment.
    pub(crate) comments: usize,
    /// The lines with code.
    pub(crate) code: usize,
    /// The calls `.unwrap()` and `.expect(..)`, whatever the receiver.
    pub(crate) panicking: usize,
    /// The definitions with `macro_rules!`.
    pub(crate) macros: usize,
}

impl Measures {
    /// Adds the product code of the file.
    pub(crate) fn add(&mut self, source: &Source) {
        self.files.push(source.lines());
        let lines = lines::of(source);
        self.comments += lines.comments;
        self.code += lines.code;
        Counter { source, measures: self }.visit_file(&source.syntax);
    }
}

/// Counts on its way through a file.
struct Counter<'a> {
    source: &'a Source,
    measures: &'a mut Measures,
}

impl Counter<'_> {
    fn is_product(&self, part: &impl Spanned) -> bool {
        self.source.is_product(part.span().start().line)
    }

    fn function(&mut self, signature: &Signature, block: &Block) {
        let first = signature.span().start().line;
        let last = block.brace_token.span.close().end().line;
        self.measures.functions.push(last + 1 - first);
    }

    fn item(&mut self, visibility: &Visibility, attributes: &[Attribute]) {
        if matches!(visibility, Visibility::Public(_)) {
            self.measures.public += 1;
            let has_doc = attributes.iter().any(|attribute| {
                attribute.path().is_ident("doc") && matches!(attribute.meta, Meta::NameValue(_))
            });
            self.measures.documented += usize::from(has_doc);
        }
    }
}

impl<'ast> Visit<'ast> for Counter<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !self.is_product(item) {
            return;
        }
        match item {
            Item::Const(item) => self.item(&item.vis, &item.attrs),
            Item::Enum(item) => self.item(&item.vis, &item.attrs),
            Item::Fn(item) => self.item(&item.vis, &item.attrs),
            Item::Static(item) => self.item(&item.vis, &item.attrs),
            Item::Struct(item) => self.item(&item.vis, &item.attrs),
            Item::Trait(item) => self.item(&item.vis, &item.attrs),
            Item::Type(item) => self.item(&item.vis, &item.attrs),
            Item::Union(item) => self.item(&item.vis, &item.attrs),
            Item::Macro(item) => self.measures.macros += usize::from(item.ident.is_some()),
            _ => (),
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !self.is_product(item) {
            return;
        }
        match item {
            ImplItem::Const(item) => self.item(&item.vis, &item.attrs),
            ImplItem::Fn(item) => self.item(&item.vis, &item.attrs),
            ImplItem::Type(item) => self.item(&item.vis, &item.attrs),
            _ => (),
        }
        visit::visit_impl_item(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(block) = item.default.as_ref().filter(|_| self.is_product(item)) {
            self.function(&item.sig, block);
            visit::visit_trait_item_fn(self, item);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let panics = PANICKING.iter().any(|name| call.method == name);
        if panics && self.is_product(&call.method) {
            self.measures.panicking += 1;
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        if self.is_product(call) {
            self.measures.panicking += panicking(call.tokens.clone());
        }
        visit::visit_macro(self, call);
    }
}

/// The calls that can panic among the tokens of a macro: a dot, the name, and parentheses.
fn panicking(tokens: TokenStream) -> usize {
    let mut count = 0;
    let mut before = [false; 2];
    for token in tokens {
        let [is_dot, is_name] = before;
        before = [
            matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.'),
            is_dot
                && matches!(&token, TokenTree::Ident(name) if PANICKING.iter().any(|it| name == it)),
        ];
        if let TokenTree::Group(group) = token {
            count += usize::from(is_name && group.delimiter() == Delimiter::Parenthesis);
            count += panicking(group.stream());
        }
    }
    count
}
