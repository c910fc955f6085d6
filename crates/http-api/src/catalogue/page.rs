//! The pages that an error's `doc_url` leads to, and their index: small HTML documents without
//! scripts, fonts or anything else from outside.

use std::sync::LazyLock;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use web::{Code, CodeRow};

/// The look of every page of the reference.
pub(crate) const STYLE: &str = include_str!("style.css");

/// The HTML page of one code.
pub(crate) fn page(code: Code) -> String {
    let CodeRow { statuses, family, title, remedy, .. } = code.row();
    let body = format!(
        "<h1><code>{code}</code></h1>\n<p>{}</p>\n<dl>\n\
         <dt>What to do</dt><dd>{}</dd>\n<dt>HTTP status</dt><dd>{}</dd>\n\
         <dt>Type</dt><dd><code>{}</code></dd>\n</dl>\n\
         <p><a href=\"/docs/errors\">Every error</a> · <a href=\"/docs\">Every operation</a></p>",
        marked_up(title),
        marked_up(remedy),
        listed(statuses),
        family.as_str()
    );
    document(code.as_str(), &body)
}

/// The HTML page that leads to the page of each of these codes.
pub(crate) fn index(codes: &[Code]) -> String {
    let row = |code: &Code| {
        let CodeRow { statuses, title, .. } = code.row();
        let (statuses, title) = (listed(statuses), marked_up(title));
        format!(
            "<tr><th><a href=\"/docs/errors/{code}\"><code>{code}</code></a><br>\
             <small>{statuses}</small></th><td>{title}</td></tr>\n"
        )
    };
    let rows: String = codes.iter().map(row).collect();
    let body = format!(
        "<h1>Errors</h1>\n<p>Every error of <a href=\"/docs\">every operation</a> by its code, \
         with the status that it comes with.</p>\n<table>\n{rows}</table>"
    );
    document("Errors", &body)
}

fn listed(statuses: &[u16]) -> String {
    statuses.iter().map(u16::to_string).collect::<Vec<_>>().join(" or ")
}

fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style></head>\n<body><main>\n{body}\n\
         </main></body></html>\n"
    )
}

/// The policy that admits the pages' own style, by its hash, and nothing else.
pub(crate) fn content_security_policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let hash = STANDARD.encode(crypto::sha256(STYLE).as_bytes());
        format!(
            "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'"
        )
    });
    &POLICY
}

/// The text as HTML, with what stands in backticks as code.
pub(crate) fn marked_up(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut html = String::with_capacity(escaped.len() + 32);
    for (index, part) in escaped.split('`').enumerate() {
        if index % 2 == 1 {
            html.push_str("<code>");
            html.push_str(part);
            html.push_str("</code>");
        } else {
            html.push_str(part);
        }
    }
    html
}
