//! What people see in a browser: the templates below `web/pages` filled in with what the interface
//! answers, and the files that they load.
//!
//! It knows no route and no use case. A page is a template and the JSON of the reads that stand
//! behind it, so that no page shows what a client of the interface could not read too. Every value
//! is escaped; [`words`] has the closed vocabulary of badges, `conclusions` the one of a verdict.
//! `values` turns what agents send into facts that mislead nobody, `rows` and `estimates` turn rows into
//! tables, `moments` tells times, and `icons` draws the symbols that a page uses. [`assets`] has the files, under names that change with what is in them.

pub mod assets;
mod charts;
mod conclusions;
mod estimates;
mod icons;
mod moments;
mod rows;
mod templates;
mod values;
pub mod words;

pub use values::{encoded, mixes_scripts};

use minijinja::{
    Environment, Error, UndefinedBehavior, Value, context, syntax::SyntaxConfig, value::Serde,
};
use model::Timestamp;
use serde::Serialize;

/// What a browser may load and do on every page: nothing from elsewhere, and no script or style that
/// stands in the page itself.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; \
    style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; \
    base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Every page.
#[derive(Debug)]
pub struct Pages {
    templates: Environment<'static>,
}

impl Pages {
    /// The pages, or which template cannot be read.
    pub fn new() -> Result<Self, Error> {
        let mut templates = Environment::new();
        templates.set_undefined_behavior(UndefinedBehavior::Strict);
        templates
            .set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        // By their names: what ends in `.html` escapes every value.
        for (name, text) in templates::ALL {
            templates.add_template(name, text)?;
        }
        charts::add_to(&mut templates);
        conclusions::add_to(&mut templates);
        estimates::add_to(&mut templates);
        icons::add_to(&mut templates);
        moments::add_to(&mut templates);
        rows::add_to(&mut templates);
        values::add_to(&mut templates);
        words::add_to(&mut templates);
        assets::add_to(&mut templates);
        Ok(Self { templates })
    }

    /// A page as HTML: the template with this name, of what it shows at this moment. Its files lie
    /// below the area of the site that it belongs to.
    pub fn fill<T: Serialize>(
        &self,
        (area, name): (&str, &str),
        now: Timestamp,
        shown: &T,
    ) -> Result<String, Error> {
        let shown = Value::from(Serde(shown));
        let html = self
            .templates
            .get_template(name)?
            .render(context! { now => now.to_string(), area => area, ..shown })?;
        Ok(icons::with_symbols(html))
    }
}

#[cfg(test)]
mod tests;
