//! The words of PostgreSQL's log: the statement and the values in an entry of it. Reads no file.

/// How a statement begins that a plan is made of.
const PLANNED: [&str; 7] = ["select", "insert", "update", "delete", "merge", "values", "with"];

/// The statement that a message says was executed with values of its own.
pub(super) fn executed(message: &str) -> Option<&str> {
    let message = match message.strip_prefix("duration: ") {
        Some(timed) => timed.split_once(" ms  ")?.1,
        None => message,
    };
    // Fetching goes on with a statement that was executed before.
    let named = message.strip_prefix("execute ").filter(|rest| !rest.starts_with("fetch from "))?;
    let (_, sql) = named.split_once(": ")?;
    Some(sql.trim().trim_end_matches(';').trim_end())
}

/// The values in the detail of an entry, as literals of SQL; none when it reads otherwise.
pub(super) fn values(detail: &str) -> Option<Vec<String>> {
    let (head, mut rest) = detail.split_once(": ")?;
    // PostgreSQL 16 writes it with a capital.
    if !head.eq_ignore_ascii_case("parameters") {
        return None;
    }
    let mut values = Vec::new();
    loop {
        rest = rest.strip_prefix(&format!("${} = ", values.len() + 1))?;
        let (value, behind) = rest.split_at_checked(length(rest)?)?;
        values.push(value.to_owned());
        if behind.is_empty() {
            return Some(values);
        }
        rest = behind.strip_prefix(", ")?;
    }
}

/// How long the literal is that the text begins with. A quote inside it is doubled.
fn length(text: &str) -> Option<usize> {
    const NULL: &str = "NULL";
    if text.starts_with(NULL) {
        return Some(NULL.len());
    }
    let mut signs = text.char_indices().peekable();
    signs.next_if(|(_, sign)| *sign == '\'')?;
    while let Some((place, sign)) = signs.next() {
        if sign == '\'' && signs.next_if(|(_, next)| *next == '\'').is_none() {
            return Some(place + 1);
        }
    }
    None
}

/// Whether a plan is made of the statement, as of all that reads or writes rows.
pub(super) fn is_planned(sql: &str) -> bool {
    let code = sql.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("--"));
    let word = code.unwrap_or_default().trim_start_matches('(');
    let end = word.find(|sign: char| !sign.is_ascii_alphabetic()).unwrap_or(word.len());
    let word = word.get(..end).unwrap_or_default().to_ascii_lowercase();
    PLANNED.contains(&word.as_str())
}

/// The beginning of a statement on one line.
pub(super) fn shortened(sql: &str) -> String {
    const LONGEST: usize = 160;
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
