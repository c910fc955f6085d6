//! Every statement in the source names its org beside every table of an org, so that a database
//! that keeps orgs apart sends it to one place.

use std::{collections::BTreeSet, fs, path::Path};

use store_postgres::{GRANTS, OF_NO_ORG};

/// The statements that look through every org, each by words that no other has.
const OF_EVERY_ORG: [&str; 20] = [
    "select record from org order by",
    "select org_id from org order by",
    "deadline as since from only action",
    "approval_expires_at as since from only action",
    "lease_until as since, lease_holder",
    "awaited_since as since, connector_id from kept_report",
    "as agent_id, (record::json ->> 'voids')",
    "select org_id, no::bigint as log_no",
    "select org_id, id from chain_check",
    "as is_ahead",
    "join org_head as head on head.org_id = lane.org_id",
    "as any_is_open",
    "from webhook_lane where not is_open",
    "select distinct org_id from webhook order by",
    "select org_id, id as connector_id from connector",
    "select org_id, connector_id from log_reader",
    "mark.version is distinct from head.version",
    "from past_tile as tile where tile.part = $1",
    "count(*) as deeds from past_tile group by part",
    "as sealed_secret",
];

#[test]
fn every_statement_on_an_orgs_table_names_the_org() {
    let tables: BTreeSet<_> =
        GRANTS.iter().map(|grant| grant.table).filter(|table| !OF_NO_ORG.contains(table)).collect();
    let mut texts = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut texts);
    let (mut found, mut of_every_org) = (0, 0);
    for text in &texts {
        let (known, nameless) = look(text, &tables);
        found += known;
        let is_of_every_org = OF_EVERY_ORG.iter().any(|words| text.contains(words));
        if is_of_every_org {
            of_every_org += 1;
        } else {
            assert!(nameless.is_empty(), "no `org_id = $1` of {nameless:?} in:\n{text}");
        }
    }
    assert!(found > 170, "only {found} uses of tables were found");
    assert_eq!(of_every_org, OF_EVERY_ORG.len());
}

#[test]
fn a_table_without_its_org_is_seen_wherever_it_stands() {
    let tables = BTreeSet::from(["action", "deed"]);
    let table = [
        ("select id from action where org_id = $1", 0),
        ("select id from action where id = $1", 1),
        ("select id from only action where id = $1", 1),
        ("select id from action as a where a.org_id = $1 and a.id = $2", 0),
        (
            "select a.id from action as a join deed as d on d.org_id = a.org_id where a.org_id = $1",
            1,
        ),
        ("select 1 from action a where org_id = $1 and exists (select from deed where seq = 1)", 1),
        ("select id from action where org_id = $1 union all select id from deed", 1),
        (
            "update action set state = r.state from unnest($2) as r where action.org_id = r.org_id",
            1,
        ),
        ("update action set state = 'x' where org_id = $2", 1),
        ("delete from deed where (org_id = $1 and seq = 2)", 0),
        ("insert into deed (org_id, seq) select $1, r.* from unnest($2) as r", 0),
        ("insert into deed (seq, org_id) values ($1, $2)", 1),
    ];
    for (sql, nameless) in table {
        assert_eq!(look(sql, &tables).1.len(), nameless, "{sql}");
    }
}

/// How many uses of a table the text has, and those that the org is not named for in the same query.
fn look(sql: &str, tables: &BTreeSet<&str>) -> (usize, Vec<String>) {
    let (mut count, mut nameless) = (0, Vec::new());
    for words in queries(sql) {
        let uses: Vec<_> = (0..words.len()).filter_map(|at| used(&words, at, tables)).collect();
        count += uses.len();
        let text = words.join(" ");
        let alone = uses.len() == 1 && text.contains(" org_id = $1");
        let named = |name: &str| text.contains(&format!(" {name}.org_id = $1"));
        let led = |name: &str| text.contains(&format!("into {name} org_id "));
        let is_nameless = |name: &&String| !alone && !named(name) && !led(name);
        nameless.extend(uses.iter().filter(is_nameless).cloned());
    }
    (count, nameless)
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
fn queries(sql: &str) -> Vec<Vec<String>> {
    let words = words(sql);
    let (mut done, mut open, mut kinds) = (Vec::new(), vec![Vec::new()], Vec::new());
    for (at, word) in words.iter().enumerate() {
        match word.as_str() {
            "(" => {
                let next = words.get(at + 1).map(String::as_str).unwrap_or_default();
                let is_query = ["select", "with", "update", "delete", "insert"].contains(&next);
                kinds.push(is_query);
                open.extend(is_query.then(Vec::new));
            }
            ")" => {
                if kinds.pop() == Some(true) {
                    done.extend(open.pop());
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
fn collect(folder: &Path, texts: &mut Vec<String>) {
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
