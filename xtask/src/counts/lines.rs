//! Lines with code and lines with comments. A syntax tree has no comments, so they are what stands
//! between its tokens.

use std::collections::BTreeSet;
use std::ops::Range;
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::source::Source;

/// The numbers of lines of a file by what stands on them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lines {
    /// Lines with a comment `//` that is no doc comment.
    pub(crate) comments: usize,
    /// Lines with code; a doc comment is none.
    pub(crate) code: usize,
}

/// The lines of the product in the file.
pub(crate) fn of(source: &Source) -> Lines {
    let mut spans = Vec::new();
    // The file was parsed, so its tokens are known to be right.
    collect(TokenStream::from_str(&source.text).unwrap_or_default(), &mut spans);
    let (mut comments, mut code) = (BTreeSet::new(), BTreeSet::new());
    let (mut done, mut line) = (0, 1);
    let end = source.text.len();
    for span in spans.into_iter().chain(std::iter::once(end..end)) {
        // A doc comment is several tokens at one place.
        if span.start < done {
            continue;
        }
        let between = source.text.get(done..span.start).unwrap_or_default();
        let with_comment =
            (line..).zip(between.split('\n')).filter(|(_, text)| text.contains("//"));
        comments.extend(with_comment.map(|(line, _)| line));
        line += newlines(between);
        let text = source.text.get(span.clone()).unwrap_or_default();
        let last = line + newlines(text);
        if !text.is_empty() && !text.starts_with("//") && !text.starts_with("/*") {
            code.extend(line..=last);
        }
        (done, line) = (span.end, last);
    }
    let product =
        |lines: BTreeSet<usize>| lines.into_iter().filter(|line| source.is_product(*line)).count();
    Lines { comments: product(comments), code: product(code) }
}

fn newlines(text: &str) -> usize {
    text.matches('\n').count()
}

/// Where each token stands in the text, in its order.
fn collect(tokens: TokenStream, spans: &mut Vec<Range<usize>>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                collect(group.stream(), spans);
            }
            TokenTree::Group(group) => {
                spans.push(group.span_open().byte_range());
                collect(group.stream(), spans);
                spans.push(group.span_close().byte_range());
            }
            other => spans.push(other.span().byte_range()),
        }
    }
}
