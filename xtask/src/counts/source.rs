//! One file of the product, parsed, with the lines of it that are for tests alone.

use std::ops::RangeInclusive;

use super::cfg;
use crate::failure::{Failure, Result};
use crate::tidy::File;

/// A parsed file.
pub(crate) struct Source {
    /// Its path from the root of the checkout.
    pub(crate) path: String,
    /// What it says.
    pub(crate) text: String,
    /// Its syntax tree, tests included.
    pub(crate) syntax: syn::File,
    tests: Vec<RangeInclusive<usize>>,
}

impl Source {
    /// Parses the file.
    pub(crate) fn parse(file: &File) -> Result<Self> {
        let syntax = syn::parse_file(&file.text).map_err(|error| {
            let line = error.span().start().line;
            Failure::because(format!("could not parse `{}`, line {line}: {error}", file.path))
        })?;
        let tests = cfg::test_lines(&syntax);
        Ok(Self { path: file.path.clone(), text: file.text.clone(), syntax, tests })
    }

    /// Whether the line is part of the product.
    pub(crate) fn is_product(&self, line: usize) -> bool {
        !self.tests.iter().any(|lines| lines.contains(&line))
    }

    /// How many lines the product has in the file.
    pub(crate) fn lines(&self) -> usize {
        (1..=self.text.lines().count()).filter(|line| self.is_product(*line)).count()
    }
}
