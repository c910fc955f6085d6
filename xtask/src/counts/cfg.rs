//! The parts of a file that are compiled for tests alone, found by their `#[cfg(..)]`.

use std::ops::RangeInclusive;

use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, Attribute, Field, ImplItem, Item, Local, Meta, Token, TraitItem, Variant};

/// The lines of each part that no build of the product has, with its attributes.
pub(crate) fn test_lines(file: &syn::File) -> Vec<RangeInclusive<usize>> {
    let mut parts = Parts::default();
    if is_for_tests(&file.attrs) {
        parts.lines.push(1..=usize::MAX);
    }
    parts.visit_file(file);
    parts.lines
}

/// Whether a `#[cfg(..)]` among the attributes is false in every build of the product.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .filter_map(|attribute| attribute.parse_args::<Meta>().ok())
        .any(|condition| !may_hold(&condition))
}

/// Whether the condition can be true in a build of the product. A feature or a target may be either,
/// and `not(..)` is taken to hold.
fn may_hold(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => !["test", "doctest", "doc"].iter().any(|name| path.is_ident(name)),
        Meta::NameValue(_) => true,
        Meta::List(list) => {
            let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
            let mut parts = parts.into_iter().flatten();
            if list.path.is_ident("all") {
                parts.all(|part| may_hold(&part))
            } else if list.path.is_ident("any") {
                parts.any(|part| may_hold(&part))
            } else {
                true
            }
        }
    }
}

/// Collects the parts on its way through a file.
#[derive(Default)]
struct Parts {
    lines: Vec<RangeInclusive<usize>>,
}

impl Parts {
    /// Notes the part when it is for tests, and says whether to look into it.
    fn enters(&mut self, attributes: &[Attribute], span: Span) -> bool {
        let is_test = is_for_tests(attributes);
        if is_test {
            self.lines.push(span.start().line..=span.end().line);
        }
        !is_test
    }
}

impl<'ast> Visit<'ast> for Parts {
    fn visit_item(&mut self, item: &'ast Item) {
        if self.enters(attributes(item), item.span()) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            ImplItem::Macro(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if self.enters(attributes, item.span()) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        let attributes = match item {
            TraitItem::Const(item) => &item.attrs,
            TraitItem::Fn(item) => &item.attrs,
            TraitItem::Type(item) => &item.attrs,
            TraitItem::Macro(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if self.enters(attributes, item.span()) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast Field) {
        self.enters(&field.attrs, field.span());
    }

    fn visit_variant(&mut self, variant: &'ast Variant) {
        if self.enters(&variant.attrs, variant.span()) {
            visit::visit_variant(self, variant);
        }
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        if self.enters(&arm.attrs, arm.span()) {
            visit::visit_arm(self, arm);
        }
    }

    fn visit_local(&mut self, local: &'ast Local) {
        if self.enters(&local.attrs, local.span()) {
            visit::visit_local(self, local);
        }
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(syn::ItemConst { attrs, .. })
        | Item::Enum(syn::ItemEnum { attrs, .. })
        | Item::ExternCrate(syn::ItemExternCrate { attrs, .. })
        | Item::Fn(syn::ItemFn { attrs, .. })
        | Item::ForeignMod(syn::ItemForeignMod { attrs, .. })
        | Item::Impl(syn::ItemImpl { attrs, .. })
        | Item::Macro(syn::ItemMacro { attrs, .. })
        | Item::Mod(syn::ItemMod { attrs, .. })
        | Item::Static(syn::ItemStatic { attrs, .. })
        | Item::Struct(syn::ItemStruct { attrs, .. })
        | Item::Trait(syn::ItemTrait { attrs, .. })
        | Item::Type(syn::ItemType { attrs, .. })
        | Item::Union(syn::ItemUnion { attrs, .. })
        | Item::Use(syn::ItemUse { attrs, .. }) => attrs,
        _ => &[],
    }
}
