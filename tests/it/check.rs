//! `chancery check` on a live service, and on records in which somebody broke one thing each.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    edge::authorized,
    eventually::until,
    house::{Database, House, Request, Verbs, call},
};

/// What somebody did to the record, by the invariant that must find it.
#[rustfmt::skip]
const BROKEN: &[(&str, &str)] = &[
    ("log-dense",     "delete from deed where seq = 2"),
    ("log-linked",    "update deed set body = replace(body, '\"prev\":\"sha256:', '\"prev\":\"sha256:0') where seq = 2"),
    ("deed-digest",   "update deed set digest = sha256('another') where seq = 1"),
    ("deed-columns",  "update deed set kind = 'amendment' where seq = 1"),
    ("deed-times",    "update deed set issued_at = issued_at - interval '1 day' where seq = 2"),
    ("deed-key",      "update deed set key_id = 'another' where seq = 1"),
    ("head",          "update org_head set last_digest = sha256('another')"),
    ("tree",          "update org_head set size = 256 where size > 5"),
    ("closed-logs",   "insert into closed_log select org_id, 0, log, 1, last_digest, last_digest, issued_at, 1, issued_at from org_head"),
    ("checkpoints",   "insert into checkpoint select org_id, 1000000, sha256('root'), 'note', now() from org"),
    ("turns",         "delete from turn where version = 2"),
    ("action-deed",   "update action set deed_id = org_id where state = 'sealed'"),
    ("action-fields", "update action set approval_status = 'denied' where state = 'pending_approval'"),
    ("action-record", "update action set tool = 'another.tool'"),
    ("kept-reports",  "insert into kept_report select org_id, id, '{}' from action where state = 'sealed'"),
    ("kept-reports",  "insert into kept_report select org_id, id, '{}', org_id, now() from action where state = 'executing'"),
    ("amendments",    "update action set record = jsonb_set(record::jsonb, '{amendment}', '{\"deed\": \"deed_1\"}')::text where state = 'sealed'"),
    ("amendments",    "update deed set kind = 'amendment' where seq = 2"),
    ("leases",        "update action set lease_until = now() - interval '1 hour' where lease_until is not null"),
    ("deadlines",     "update action set deadline = now() - interval '1 hour' where state = 'executing' and mode = 'proxy'"),
    ("void-approvals", "update agent set record = jsonb_set(record::jsonb, '{voids}', to_jsonb(now() - interval '1 hour'))::text; update action set created_at = created_at - interval '2 hours'"),
    ("events",        "delete from event where seq = 2"),
    ("deed-events",   "update event set kind = 'action.created' where seq > 3"),
    ("idempotency",   "update idempotency set action_id = org_id"),
    ("disclosures",   "delete from action where state = 'executing'"),
    ("agents",        "delete from api_key_org"),
    ("members",       "insert into member select org_id, org_id, org_id, 'viewer', false, now(), null, 1 from org"),
    ("sessions",      "insert into session (id, user_id, mac, created_at, authenticated_at, last_seen_at, expires_at, network, browser, chosen_org, chosen_role) select org_id, org_id, sha256(convert_to(org_id::text, 'UTF8')), now(), now(), now(), now() + interval '1 hour', '', '', org_id, 'owner' from org"),
    ("sessions",      "insert into membership select org_id, org_id from org; insert into session (id, user_id, mac, created_at, authenticated_at, last_seen_at, expires_at, network, browser) select org_id, org_id, sha256(convert_to(org_id::text, 'UTF8')), now(), now(), now(), now() + interval '8 days', '', '' from org"),
    ("intent-keys",   "insert into intent_key_set select org_id, id, '{\"keys\": [{\"id\": \"ik_1\", \"kid\": \"another\", \"public_key\": \"AAAA\"}]}' from agent"),
    ("policy",        "update policy_active set digest = sha256('another')"),
    ("budgets",       "update budget_window set used = used + 1"),
    ("counts",        "insert into action_tally select org_id, org_id, date_trunc('hour', now()), 'cancelled', 'allow', '', '', '', 1, 0 from org"),
    ("counts",        "delete from action_tally"),
    ("vault",         "update connector set record = jsonb_set(record::jsonb, '{credential,conn_password}', '\"AQAAAAAAAAAAAAAA\"')::text"),
    ("vault",         "update webhook set record = jsonb_set(record::jsonb, '{secret}', '\"AQAAAAAAAAAAAAAA\"')::text"),
    ("webhooks",      "delete from webhook_lane"),
    ("webhooks",      "update webhook_lane set seq = 1000000"),
    ("webhooks",      "update webhook_lane set is_open = false"),
    // What cannot even be read is found as well; of what people were asked, an index refuses it.
    ("action-record", "update action set record = '{' where approval_status is null"),
];

/// Leaves an action of every kind, one of them running, and returns the record without a service.
async fn record(house: &House) -> Database {
    let mut service = house.serve().await;
    let agent = house.agent("busy").await;
    let caller = service.caller(&agent.key);
    let note = call("lab.note", json!({ "mark": "note" }));
    caller.insist(Request::post("/v1/actions", &note).keyed("note")).await.ok();
    caller.executed("lab.counted", json!({ "mark": "counted" })).await;
    caller.executed("lab.divide", json!({ "by": 0 })).await;
    caller.call("shop.orders.delete", json!({ "order": 5 })).await.is(403);
    let held = json!({ "order": 10, "amount": 60, "reason": "broken" });
    caller.call("shop.refunds.create", held).await.is(202);
    authorized(&caller).await;
    let admin = service.caller(&house.org_key().await);
    let endpoint = json!({ "url": "https://127.0.0.1/hook", "types": ["webhook.updated"] });
    admin.send(Request::post("/v1/webhook_endpoints", &endpoint)).await.is(201);
    let mut slow = call("lab.slow-note", json!({ "mark": "slow", "milliseconds": 60_000 }));
    slow["wait"] = json!(0.1);
    caller.send(Request::post("/v1/actions", &slow)).await.is(202);
    let (code, report) = check(&house.verbs).await;
    assert_eq!((code, found(&report)), (0, BTreeSet::new()), "on a live service: {report}");
    assert!(report["systems"][1]["lines"][0]["state"].is_string(), "{report}");
    until_counted(&house.control).await;
    service.kill();
    house.control.clone()
}

/// Waits until actions were counted: that is done in the background, and only then can it be broken.
async fn until_counted(record: &Database) {
    let counted = "select count(*) from action_tally";
    until("something is counted", async || record.count(counted).await > 0).await;
}

async fn check(verbs: &Verbs) -> (i32, Value) {
    let output = verbs.output(&["--config", "settings.yaml", "check", "--json"]).await;
    let said = String::from_utf8_lossy(&output.stderr);
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    (output.status.code().unwrap(), report)
}

/// The names of what does not hold.
fn found(report: &Value) -> BTreeSet<String> {
    let broken = |line: &&Value| line["violations"] != 0;
    let name = |line: &Value| line["name"].as_str().unwrap().to_owned();
    report["record"].as_array().unwrap().iter().filter(broken).map(name).collect()
}

/// A copy of the record in which these statements were run.
async fn broken(record: &Database, number: usize, sql: &str) -> Database {
    let Database { cluster, name } = record;
    let copy = cluster.database(&format!("{name}-{number}"));
    let gone = "select pg_terminate_backend(pid) from pg_stat_activity where datname =";
    cluster.run(&format!("{gone} '{name}'")).await;
    cluster.run(&format!("create database \"{}\" template \"{name}\"", copy.name)).await;
    let constraints = "set session_replication_role = replica;
        do $$ declare c record; begin
            for c in select conname from pg_constraint
                where conrelid = 'action'::regclass and contype = 'c'
            loop execute format('alter table action drop constraint %I', c.conname); end loop;
        end $$";
    copy.run(&format!("{constraints}; {sql}")).await;
    copy
}

#[tokio::test]
async fn whatever_is_broken_in_the_record_is_found_by_name() {
    let Some(house) = House::new("").await else { return };
    let record = record(&house).await;
    for (number, (name, sql)) in BROKEN.iter().enumerate() {
        let copy = broken(&record, number, sql).await;
        let (code, report) = check(&Verbs::new(house.folder(), &copy, "")).await;
        assert_eq!(code, 1, "{name}");
        let found = found(&report);
        assert!(found.contains(*name), "{name} was not found, but {found:?}");
    }
    let (_, report) = check(&house.verbs).await;
    let all = report["record"].as_array().unwrap().iter();
    let all: BTreeSet<_> = all.map(|line| line["name"].as_str().unwrap()).collect();
    assert_eq!(all, BROKEN.iter().map(|(name, _)| *name).collect(), "each is broken once");
}

#[tokio::test]
async fn a_check_prints_each_invariant_with_its_first_offenders_and_ends_in_2_if_it_cannot_look() {
    let Some(house) = House::new("").await else { return };
    let whole = house.verbs.output(&["check"]).await;
    let printed = String::from_utf8(whole.stdout).unwrap();
    assert_eq!(whole.status.code(), Some(0), "{printed}");
    let dense = "ok    log-dense  the deeds of a log have the places 0, 1, 2 and so on\n";
    assert!(printed.contains(dense), "{printed}");
    let copy = broken(&house.control, 0, "delete from deed where seq = 1").await;
    let output = Verbs::new(house.folder(), &copy, "").output(&["check"]).await;
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("FAIL  log-dense"), "{printed}");
    assert!(
        printed.contains(&format!("        {}: deed 2 of log 0 is at place 1", house.org)),
        "{printed}"
    );
    let nowhere = house.control.cluster.database("nowhere");
    let output = Verbs::new(house.folder(), &nowhere, "").output(&["check"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("control database"));
}
