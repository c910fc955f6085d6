//! The text of a statement, taken apart as far as the rules need.

use std::{collections::BTreeSet, fs, path::Path};

/// How many uses of a table the text has, and those that the org is not named for in the same query.
pub(super) fn look(sql: &str, tables: &BTreeSet<&str>) -> (usize, Vec<String>) {
    let (mut count, mut nameless) = (0, Vec::new());
    for words in queries(sql) {
        let uses: Vec<_> = (0..words.len()).filter_map(|at| used(&words, at, tables)).collect();
        count += uses.len();
        let text = format!(" {} ", words.join(" "));
        let is_chosen = text.contains(&format!(" {CHOICE} ")) && !is_evaded(&words);
        let is_named = |column: &str| {
            text.contains(&format!(" {column} = $1 "))
                || is_chosen && text.contains(&format!(" {column} = any ( $1 ) "))
        };
        let alone = uses.len() == 1 && is_named("org_id");
        let named = |name: &str| is_named(&format!("{name}.org_id"));
        let led = |name: &str| text.contains(&format!(" into {name} ( org_id "));
        let is_nameless = |name: &&String| !alone && !named(name) && !led(name);
        nameless.extend(uses.iter().filter(is_nameless).cloned());
    }
    (count, nameless)
}

/// What leaves the choice of orgs to the first value.
const CHOICE: &str = "( $1 : : uuid [ ] is null or";

/// Whether an `or` beside the choice of orgs lets others through.
fn is_evaded(words: &[String]) -> bool {
    let begins = |at: usize| words[at..].join(" ").starts_with(CHOICE);
    (0..words.len()).filter(|at| begins(*at)).any(|at| {
        let end = closed(&words[at..]).map_or(words.len(), |end| at + end);
        let mut depth = 0_i32;
        words[end + 1..].iter().any(|word| {
            match word.as_str() {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            depth == 0 && word == "or"
        })
    })
}

/// The tables that the text inserts into, updates or deletes from.
pub(super) fn written(sql: &str) -> Vec<String> {
    let words = words(sql);
    let pairs = words.windows(3).filter(|three| match (&*three[0], &*three[1]) {
        ("insert", "into") | ("delete", "from") => true,
        ("update", _) => three[2] == "set" || three[2] == "as",
        _ => false,
    });
    pairs.map(|three| if three[0] == "update" { &three[1] } else { &three[2] }).cloned().collect()
}

/// The catalogues of PostgreSQL, and of Citus in it, that the text reads rows of.
pub(super) fn catalogues(sql: &str) -> impl Iterator<Item = String> {
    let words = words(sql);
    let read = |pair: &[String]| {
        let is_read = ["from", "join"].contains(&&*pair[0]) && pair[1].starts_with("pg_");
        is_read.then(|| pair[1].clone())
    };
    words.windows(2).filter_map(read).collect::<Vec<_>>().into_iter()
}

/// Why Citus would refuse this query, if it would: its values are not the same whenever a node works them
/// out, in a place where Citus does not work them out itself.
pub(super) fn refused(query: &[String]) -> Option<&'static str> {
    let place = |word: &str| query.iter().position(|it| it == word);
    let behind = |at: Option<usize>| at.map_or(&[][..], |at| &query[at + 1..]);
    let is_written = |verb: &str| query.windows(2).any(|two| two[0] == verb && two[1] != "skip");
    let changes = is_written("update") && place("set").is_some() || is_written("delete");
    let inserts = query.windows(2).any(|two| two == ["insert", "into"]);
    if !changes && !inserts {
        return None;
    }
    let returning = place("returning");
    if is_mutable(behind(returning)) {
        return Some("non-immutable in `returning`");
    }
    let written = &query[..returning.unwrap_or(query.len())];
    let conflict = written.iter().position(|word| word == "conflict");
    if is_mutable(conflict.map_or(&[], |at| &written[at..])) {
        return Some("non-immutable in `on conflict`");
    }
    if changes && !inserts {
        if lazily(written).any(is_mutable) {
            return Some("non-immutable in `case` or `coalesce`");
        }
        if (1..written.len()).any(|at| is_stable_at(written, at)) {
            return Some("a column is given to a function that is only stable");
        }
    }
    None
}

/// Functions whose values are not the same at every call.
const MUTABLE: [&str; 9] = [
    "now",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "current_timestamp",
    "date_trunc",
    "extract",
    "random",
    "gen_random_uuid",
];

fn is_mutable(words: &[String]) -> bool {
    let calls = words.iter().any(|word| MUTABLE.contains(&word.as_str()));
    calls || (1..words.len()).any(|at| is_stable_at(words, at) || is_span_added(words, at))
}

/// Whether a span is added to, or taken from, what may be a time: what that gives depends on the time
/// zone of the session.
fn is_span_added(words: &[String], at: usize) -> bool {
    let is_span = ["make_interval", "interval"].contains(&words[at].as_str());
    is_span && ["+", "-"].contains(&words[at - 1].as_str())
}

/// Whether that is done with a column, or a column's text is read as a time.
fn is_stable_at(words: &[String], at: usize) -> bool {
    let before = |by: usize| at.checked_sub(by).map_or("", |at| words[at].as_str());
    let is_read = words[at] == "timestamptz" && before(3) == ")";
    is_read || is_span_added(words, at) && before(2) != ")"
}

/// What is worked out only if it is needed: each `case` up to its `end`, and each `coalesce`.
fn lazily(words: &[String]) -> impl Iterator<Item = &[String]> {
    words.iter().enumerate().filter_map(|(at, word)| {
        let rest = &words[at + 1..];
        let end = match word.as_str() {
            "case" => rest.iter().position(|word| word == "end"),
            "coalesce" => closed(rest),
            _ => None,
        };
        end.map(|end| &rest[..end])
    })
}

/// Where the parenthesis that the words begin with is closed.
fn closed(words: &[String]) -> Option<usize> {
    let mut open = 0_usize;
    words.iter().position(|word| {
        match word.as_str() {
            "(" => open += 1,
            ")" => open -= 1,
            _ => {}
        }
        open == 0
    })
}

/// The name under which a table is used at this place.
fn used(words: &[String], at: usize, tables: &BTreeSet<&str>) -> Option<String> {
    // `only` leaves out the partitions of the past.
    let at_table = if words.get(at + 1)? == "only" { at + 2 } else { at + 1 };
    let (verb, table) = (&words[at], words.get(at_table)?);
    let uses = ["from", "join", "update", "using", "into"].contains(&verb.as_str());
    if !uses || !tables.contains(table.as_str()) {
        return None;
    }
    let rest: Vec<_> = words.iter().skip(at_table + 1).map(String::as_str).take(2).collect();
    Some(match rest.as_slice() {
        ["as", alias, ..] => (*alias).to_owned(),
        _ => table.clone(),
    })
}

/// The words of each query of a statement by itself: what stands in parentheses is one if it begins
/// as one, and `union` ends one. Parts of a statement may open more than they close.
pub(super) fn queries(sql: &str) -> Vec<Vec<String>> {
    let words = words(sql);
    let (mut done, mut open, mut kinds) = (Vec::new(), vec![Vec::new()], Vec::new());
    for (at, word) in words.iter().enumerate() {
        match word.as_str() {
            "(" => {
                let next = words.get(at + 1).map(String::as_str).unwrap_or_default();
                let is_query = ["select", "with", "update", "delete", "insert"].contains(&next);
                kinds.push(is_query);
                if is_query {
                    open.push(Vec::new());
                } else {
                    open.last_mut().unwrap().push(word.clone());
                }
            }
            ")" => {
                if kinds.pop() == Some(true) {
                    done.extend(open.pop());
                } else {
                    open.last_mut().unwrap().push(word.clone());
                }
            }
            "union" => done.push(std::mem::take(open.last_mut().unwrap())),
            "," => {}
            _ => open.last_mut().unwrap().push(word.clone()),
        }
    }
    done.extend(open);
    done
}

/// Names with their table, values, and every other sign by itself; literals are left out.
fn words(sql: &str) -> Vec<String> {
    let mut words = Vec::new();
    for text in sql.split('\'').step_by(2) {
        let mut word = String::new();
        for sign in text.chars() {
            let is_part = sign.is_ascii_alphanumeric() || "_.$".contains(sign);
            if !is_part && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            match sign {
                _ if is_part => word.push(sign),
                ' ' | '\n' => {}
                _ => words.push(sign.to_string()),
            }
        }
        words.extend((!word.is_empty()).then_some(word));
    }
    words
}

/// Collects the string literals of every file below this folder.
pub(super) fn collect(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, texts);
        } else if name != "tests.rs" && name != "testing.rs" {
            let text = fs::read_to_string(&path).unwrap();
            let code: Vec<_> =
                text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            let code = code.join("\n").replace("\\\"", "").replace("r#\"", "\"");
            texts.extend(code.split('"').skip(1).step_by(2).map(str::to_owned));
        }
    }
}
