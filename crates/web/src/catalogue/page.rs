//! The page that an error's `doc_url` leads to: one small HTML document without scripts, fonts or
//! anything else from outside.

use std::sync::LazyLock;

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{Code, Entry};

const STYLE: &str = "body{font:1rem/1.6 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 1rem}\
code{font:.95em ui-monospace,monospace}h1{font-size:1.5rem}dt{font-weight:600;margin-top:1rem}dd{margin:0}\
@media(prefers-color-scheme:dark){body{background:#14161a;color:#e8e8e8}}";

/// Returns the HTML page of one code.
pub fn page(code: Code) -> String {
    let Entry { statuses, family, title, remedy, .. } = code.entry();
    let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{code}</title><style>{STYLE}</style></head>\n<body><main>\n\
         <h1><code>{code}</code></h1>\n<p>{}</p>\n<dl>\n\
         <dt>What to do</dt><dd>{}</dd>\n<dt>HTTP status</dt><dd>{}</dd>\n\
         <dt>Type</dt><dd><code>{}</code></dd>\n</dl>\n</main></body></html>\n",
        marked_up(title),
        marked_up(remedy),
        statuses.join(" or "),
        family.as_str()
    )
}

/// Returns the policy that admits the page's own style, by its hash, and nothing else.
pub fn content_security_policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let hash = STANDARD.encode(crypto::sha256(STYLE).as_bytes());
        format!(
            "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'"
        )
    });
    &POLICY
}

/// Returns the text as HTML, with what stands in backticks as code.
fn marked_up(text: &str) -> String {
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
