//! What a database on several nodes takes of a statement, checked for every statement in the source: each
//! names its org beside every table of an org, so that one node answers it, and none has what Citus refuses.
//!
//! These are rules for texts. `cargo xtask citus` replays what the tests send on a real cluster.

mod text;

use std::{collections::BTreeSet, path::Path};

use store_postgres::{GRANTS, OF_NO_ORG};
use text::{collect, look, queries, written};

/// The statements that are put to every org, or to those that can be reached, each by words that no
/// other has.
const OF_EVERY_ORG: [&str; 18] = [
    "select record from org where (",
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
    "not is_open and due_at is not null",
    "select distinct org_id from webhook where",
    "select org_id, id as connector_id from connector",
    "from log_reader as kept",
    "mark.version is distinct from head.version",
    "count(*) as deeds from past_tile",
    "as sealed_secret",
];

/// The statements that name no org and are sent where there is one node, or where all of them answer.
const ON_ALL_NODES: [&str; 2] =
    ["from past_tile as tile where tile.part = $1", "select org_id from org order by"];

/// The tables that every node has whole and that the service writes, with what writes them. Such a
/// write goes to all nodes, and fails while one is away.
const WRITTEN_ON_EVERY_NODE: [(&str, &str); 14] = [
    ("schema_migration", "a migration"),
    ("seal_key", "a new seal key, or one that ends"),
    ("pepper", "the first start"),
    ("api_key_org", "a new key"),
    ("org_name", "a new org"),
    ("membership", "a new member"),
    ("person", "the first sign-in of a person"),
    ("sign_in_count", "a sign-in, and what counts them"),
    ("challenge", "a sign-in"),
    ("session", "a sign-in, a choice of org, and each minute of use"),
    ("mail_job", "a mail about a sign-in"),
    ("invite_mail", "an invitation"),
    ("approval_mail", "a question to a person"),
    ("webhook_mail", "an endpoint that failed for too long"),
];

fn texts() -> Vec<String> {
    let mut texts = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut texts);
    texts
}

fn tables_of_orgs() -> BTreeSet<&'static str> {
    GRANTS.iter().map(|grant| grant.table).filter(|table| !OF_NO_ORG.contains(table)).collect()
}

fn has_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|words| text.contains(words))
}

#[test]
fn every_statement_on_an_orgs_table_names_the_org() {
    let tables = tables_of_orgs();
    let (mut found, mut of_every_org, mut on_all_nodes) = (0, 0, 0);
    for text in &texts() {
        let (known, nameless) = look(text, &tables);
        found += known;
        if has_any(text, &ON_ALL_NODES) {
            on_all_nodes += 1;
            continue;
        }
        assert!(nameless.is_empty(), "no `org_id = $1` of {nameless:?} in:\n{text}");
        let is_listed = has_any(text, &OF_EVERY_ORG);
        let is_chosen = text.contains("($1::uuid[] is null or ");
        assert!(is_listed || !is_chosen, "put to every org, and not listed:\n{text}");
        assert!(!(is_chosen && text.contains("for update")), "locks rows of every org:\n{text}");
        of_every_org += usize::from(is_listed);
    }
    assert!(found > 170, "only {found} uses of tables were found");
    assert_eq!((of_every_org, on_all_nodes), (OF_EVERY_ORG.len(), ON_ALL_NODES.len()));
}

#[test]
fn no_statement_has_what_citus_refuses() {
    let tables: BTreeSet<_> = GRANTS.iter().map(|grant| grant.table).collect();
    let mut looked_at = 0;
    for text in &texts() {
        for query in queries(text) {
            looked_at += 1;
            let refused = text::refused(&query);
            assert_eq!(refused, None, "in:\n{text}");
        }
        let joins = text::catalogues(text).next().filter(|_| look(text, &tables).0 > 0);
        assert_eq!(joins, None, "a table of the service beside a catalogue, in:\n{text}");
    }
    assert!(looked_at > 300, "only {looked_at} queries were found");
}

#[test]
fn what_is_written_on_every_node_is_listed_with_its_reason() {
    let texts = texts();
    let found: BTreeSet<_> = texts.iter().flat_map(|text| written(text)).collect();
    let found: BTreeSet<_> = OF_NO_ORG.into_iter().filter(|table| found.contains(*table)).collect();
    let listed: BTreeSet<_> = WRITTEN_ON_EVERY_NODE.iter().map(|(table, _)| *table).collect();
    assert_eq!(found, listed);
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
        ("select id from action where ($1::uuid[] is null or org_id = any($1)) and id > $2", 0),
        (
            "select id from action where ($1::uuid[] is null or org_id = any($1)) and id > $2 or id < $3",
            1,
        ),
        (
            "select id from action where ($1::uuid[] is null or org_id = any($1)) and (a or b) limit 1",
            0,
        ),
        ("select id from action where org_id = any($1)", 1),
        ("select id from action where ($2::uuid[] is null or org_id = any($2))", 1),
    ];
    for (sql, nameless) in table {
        assert_eq!(look(sql, &tables).1.len(), nameless, "{sql}");
    }
}

#[test]
fn what_citus_refuses_is_seen() {
    let refused = [
        "update session set mac = $2 where mac = $1 returning expires_at > now() as is_fresh",
        "update lane set token = 1 where org_id = $1 returning seq, coalesce(due_at <= now(), false)",
        "with moved as (update session set mac = $2 returning began_at + make_interval(secs => $3))
            select 1 from moved",
        "insert into turn (org_id, id) values ($1, $2) returning clock_timestamp() as clock",
        "insert into kept (subject, began_at) values ($1, now()) on conflict (subject) do update
            set began_at = case when kept.began_at <= now() then excluded.began_at end",
        "insert into reader (org_id) values ($1) on conflict (org_id) do update set holder = $2
            where reader.lease_until <= now()",
        "insert into a (org_id) values ($1) on conflict (org_id) do update set until = a.at - interval '1 day'",
        "update action set lease_until = $2 where org_id = $1 and coalesce(lease_until > now(), false)",
        "update action set until = case when until < now() then now() else until end where org_id = $1",
        "delete from session where last_seen_at + make_interval(secs => $1) < now()",
        "update org set at = now() where org_id = $1 and (record::json ->> 'until')::timestamptz > $2",
    ];
    for sql in refused {
        assert!(queries(sql).iter().any(|query| text::refused(query).is_some()), "{sql}");
    }
    let taken = [
        "with moved as (update session set at = now() where mac = $1 returning id, at)
            select id, at + make_interval(secs => $2) > now() as is_fresh from moved",
        "insert into kept (subject, began_at) values ($1, now()) on conflict (subject) do update
            set count = case when excluded.began_at - kept.began_at >= make_interval(secs => $2) then 1 end
            returning count",
        "update action set lease_until = least(lease_until, date_trunc('milliseconds', now()))
            where org_id = $1",
        "update lane set until = now() + make_interval(secs => $3) where org_id = $1 and until <= now()",
        "select id from api_key where org_id = $1 and coalesce(expires_at > now(), true)",
        "insert into seen (org_id, at) select $1, r.at from unnest($2::timestamptz[]) as r (at)",
    ];
    for sql in taken {
        for query in queries(sql) {
            assert_eq!(text::refused(&query), None, "{sql}");
        }
    }
    let joined = "select 1 from pg_inherits join deed on true";
    assert_eq!(text::catalogues(joined).collect::<Vec<_>>(), ["pg_inherits"]);
    assert_eq!(text::catalogues("select pg_is_in_recovery()").count(), 0);
}
