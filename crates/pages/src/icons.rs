//! Symbols: one drawing each in `web/pages/icons.svg`, written into a page once and only where the
//! page uses it. A page that loaded them from a file of their own would show none in browsers that
//! hold `default-src 'none'` against it.

use std::{collections::BTreeMap, sync::LazyLock};

use minijinja::{Environment, Error, ErrorKind, Value};

const DRAWN: &str = include_str!("../../../web/pages/icons.svg");
/// Where a page wants its symbols.
const PLACE: &str = "<!-- symbols -->";

/// Each symbol by its name.
static SYMBOLS: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let symbols = DRAWN.lines().filter(|line| line.starts_with("<symbol"));
    let named = |line: &'static str| {
        let name = line.split_once("id=\"i-")?.1.split_once('"')?.0;
        Some((name, line))
    };
    symbols.filter_map(named).collect()
});

pub(crate) fn add_to(templates: &mut Environment<'_>) {
    templates.add_function("icon", icon);
}

/// A symbol beside its word: whoever hears the page hears the word alone.
fn icon(name: &str) -> Result<Value, Error> {
    let Some((name, _)) = SYMBOLS.get_key_value(name) else {
        return Err(Error::new(ErrorKind::InvalidOperation, format!("no symbol is `{name}`")));
    };
    let svg = format!(
        "<svg class=\"icon\" width=\"16\" height=\"16\" aria-hidden=\"true\"><use href=\"#i-{name}\"/></svg>"
    );
    Ok(Value::from_safe_string(svg))
}

/// The page with the symbols that it uses.
pub(crate) fn with_symbols(page: String) -> String {
    if !page.contains(PLACE) {
        return page;
    }
    let is_used = |name: &str| page.contains(&format!("\"#i-{name}\""));
    let symbols: String =
        SYMBOLS.iter().filter(|(name, _)| is_used(name)).map(|(_, symbol)| *symbol).collect();
    let sheet = format!(
        "<svg class=\"symbols\" width=\"0\" height=\"0\" aria-hidden=\"true\">{symbols}</svg>"
    );
    page.replacen(PLACE, &sheet, 1)
}
