//! What the runbook says of a record that has grown old, run as it stands there; and a log of which a
//! month was archived so, as auditors verify it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::eventually::eventually;
use tokio::task::JoinSet;
use tokio_postgres::SimpleQueryMessage;

use crate::calls::note;
use crate::evidence::{Told, other};
use crate::house::{Caller, House, Request, program};

const RUNBOOK: &str = include_str!("../../docs/runbook.md");

/// The commands of the chapter, one by one.
fn commands() -> Vec<Vec<&'static str>> {
    let (_, chapter) = RUNBOOK.split_once("## The record has grown old").unwrap();
    let blocks = chapter.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines);
    lines.map(|line| line.split(' ').collect()).collect()
}

#[tokio::test]
async fn what_the_runbook_says_of_an_old_record_runs_as_it_stands() {
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let agent = house.agent("old").await;
    note(&service.caller(&agent.key), "before").await;
    let commands = commands();
    assert_eq!(commands.len(), 5, "{commands:?}");
    let mut said = String::new();
    for command in commands {
        assert_eq!(command.first(), Some(&"chancery"));
        said += &house.verbs.run(&command[1..]).await;
    }
    assert_eq!(said.matches("checkpoints, 0 would be removed").count(), 2, "{said}");
    assert_eq!(said.matches("checkpoints, 0 removed").count(), 2, "{said}");
    assert_eq!(said.matches("  0 deeds were moved\n").count(), 2, "{said}");
    let young = ["archive", "past", "--before", "2099-01-01T00:00:00.000Z"];
    let refused = house.verbs.output(&young).await;
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("younger than 32 days"));
    note(&service.caller(&agent.key), "after").await;
}

/// A log of two months, of which the first is archived.
struct Archived {
    house: House,
    partition: String,
    /// Checkpoints that auditors kept: of a time inside the month that went, and of now.
    kept: [PathBuf; 2],
    keys: PathBuf,
    key_file: PathBuf,
    /// The partition as `pg_dump` writes it, and its deeds as lines.
    files: [PathBuf; 2],
}

impl Archived {
    async fn new(house: House) -> Self {
        let service = house.serve().await;
        let (agent, org_key) = (house.agent("old").await, house.org_key().await);
        let (agent, org) = (service.caller(&agent.key), service.caller(&org_key));
        let first = checkpoint(&house, (&org, "first"), &agent, 100).await;
        let now = checkpoint(&house, (&org, "now"), &agent, 300).await;
        let keys = org.read("/.well-known/service/keys.json").await;
        let keys = house.write("published.json", &keys.to_string());
        let key_file = house.write("org-key", &org_key);
        drop(service);
        // Nothing in a log tells the times but its bodies, which a tile that moves is not read for.
        let moved = "
            update deed set issued_at = issued_at - interval '60 days' where seq < 256;
            update event set created_at = created_at - interval '60 days' where seq < 256;
            update org set record = jsonb_set(record::jsonb, '{pruned_to}', '1000000')::text";
        house.control.run(moved).await;
        let before =
            "select to_char(now() - interval '40 days', 'YYYY-MM-DD\"T\"00:00:00.000\"Z\"')";
        let client = house.control.client().await;
        let before: String = client.query_one(before, &[]).await.unwrap().get(0);
        let said = house.verbs.run(&["archive", "past", "--before", &before]).await;
        assert!(said.contains("256 deeds were moved"), "{said}");
        let row = client.query_one("select part from past_tile limit 1", &[]).await.unwrap();
        let partition: String = row.get(0);
        let dump = house.write("dump.sql", &dumped(&client, &partition).await);
        house.control.run(&as_told("To detach", &house, &partition)).await;
        let lines = client.simple_query(&as_told("To hand on", &house, &partition)).await.unwrap();
        let lines = lines.iter().filter_map(|row| text(row)).map(|line| line.to_owned() + "\n");
        let lines: String = lines.collect();
        let files = [dump, house.write("deeds.jsonl", &lines)];
        Self { house, partition, kept: [first, now], keys, key_file, files }
    }

    /// What `chancery verify --url` comes to.
    async fn followed(&self, url: &str, kept: &Path, more: &[&str]) -> Value {
        let (key, kept) = (self.key_file.to_str().unwrap(), kept.to_str().unwrap());
        let words =
            ["verify", "--url", url, "--key-file", key, "--known-checkpoint", kept, "--json"];
        let output = self.house.verbs.output(&[&words, more].concat()).await;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What each of the verifiers comes to of a file, held to a checkpoint.
    async fn judged(&self, file: &Path, kept: Option<&Path>, more: &[&str]) -> Vec<Told> {
        let (file, keys) = (file.to_str().unwrap(), self.keys.to_str().unwrap());
        let mut words = vec![file, "--keys", keys];
        words.extend(kept.iter().flat_map(|kept| ["--known-checkpoint", kept.to_str().unwrap()]));
        words.extend(more);
        let output = self.house.verbs.output(&[&["verify"], &words[..]].concat()).await;
        let mut told = vec![(output.status.code(), String::from_utf8(output.stdout).unwrap())];
        for (variable, script) in
            [("CHANCERY_PYTHON", "verify.py"), ("CHANCERY_NODE", "verify.mjs")]
        {
            let Some(program) = program(variable) else { continue };
            told.push(other(&program, script, &words));
        }
        told
    }
}

/// The verifiers come to the same of files that are not as they should be, or only look so.
async fn odd_files(archived: &Archived, log: &Path) {
    let [dump, lines] =
        archived.files.each_ref().map(|file| std::fs::read_to_string(file).unwrap());
    let few: String = lines.split_inclusive('\n').take(100).collect();
    for (name, text, code) in [
        ("few", few, 2),
        ("custom", "PGDMP\u{1}\u{e}".to_owned(), 2),
        ("none", "--\n-- PostgreSQL database dump\n--\n".to_owned(), 2),
        ("bare", "{}\n".to_owned(), 2),
        ("no-hex", dump.replacen("\\\\x", "\\\\xzz", 1), 2),
        ("short", dump.replacen("\t{", "{", 1), 2),
        ("crlf", dump.replace('\n', "\r\n"), 0),
        ("mixed", format!("{dump}{{ a function\n"), 0),
    ] {
        let file = archived.house.write(name, &text);
        let told = archived.judged(log, None, &["--archived", file.to_str().unwrap()]).await;
        let codes: Vec<_> = told.iter().map(|(found, _)| *found).collect();
        assert_eq!(codes, vec![Some(code); codes.len()], "{name}: {told:?}");
    }
}

/// Has many calls refused, each of which is sealed, and keeps the checkpoint behind them.
async fn checkpoint(
    house: &House,
    (org, name): (&Caller, &str),
    agent: &Caller,
    calls: usize,
) -> PathBuf {
    let mut refused = JoinSet::new();
    for _ in 0..calls {
        let agent = agent.clone();
        refused.spawn(async move { agent.call("nobody.serves", json!({})).await.is(404) });
    }
    refused.join_all().await;
    let note = org.get("/v1/log/checkpoint").await;
    assert_eq!(note.status, 200);
    house.write(name, str::from_utf8(&note.body).unwrap())
}

/// The deeds of a partition as `pg_dump` writes them: rows in the text format of `COPY`.
async fn dumped(client: &tokio_postgres::Client, partition: &str) -> String {
    let table = format!("deed_{partition}");
    let rows = format!(
        r"select seq || E'\t' || replace(body, '\', '\\') || E'\t\\\\x' || encode(signature, 'hex')
            || E'\t' || key_id || E'\n' from {table} order by id desc"
    );
    let rows = client.query(&rows, &[]).await.unwrap();
    let rows: String = rows.iter().map(|row| row.get::<_, String>(0)).collect();
    let columns = "seq, body, signature, key_id";
    format!(
        "--\n-- PostgreSQL database dump\n--\n
COPY public.{table} ({columns}) FROM stdin;\n{rows}\\.\n\n"
    )
}

/// The text of a row that has one column.
fn text(message: &SimpleQueryMessage) -> Option<&str> {
    match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    }
}

/// The statements of the runbook that follow these words, for this partition and org.
fn as_told(words: &str, house: &House, partition: &str) -> String {
    let (_, rest) = RUNBOOK.split_once(words).unwrap();
    let (_, rest) = rest.split_once("```sql\n").unwrap();
    let (sql, _) = rest.split_once("```").unwrap();
    assert!(sql.contains("2025_11"));
    sql.replace("2025_11", partition).replace("org_01k6ga3wvwgc6d8e0f2g4h6j8k", &house.org)
}

#[tokio::test]
async fn a_log_of_which_a_month_is_archived_verifies_by_url_and_by_three_verifiers() {
    let Some(house) = House::new("").await else { return };
    let archived = Archived::new(house).await;
    let service = archived.house.serve().await;
    let org = service.caller(std::fs::read_to_string(&archived.key_file).unwrap().trim());
    let files = archived.files.each_ref().map(|file| file.to_str().unwrap());
    for kept in &archived.kept {
        let url = format!("http://{}", service.address);
        let told = archived.followed(&url, kept, &[]).await;
        assert_eq!((&told["verdict"], &told["grade"]), (&json!("valid"), &json!("checkpointed")));
        assert_eq!(told["archived"]["deeds"], 256, "{told}");
        assert_eq!(told["archived"]["partitions"], json!([archived.partition]));
        for file in files {
            let whole = archived.followed(&url, kept, &["--archived", file]).await;
            assert_eq!(whole["archived"]["deeds"], 0, "{whole}");
        }

        // The log as a file, read out for the checkpoint that was kept.
        let note = std::fs::read_to_string(kept).unwrap();
        let size = note.lines().nth(1).unwrap();
        let log = org.get(&format!("/v1/log/deeds?known_size={size}")).await;
        let log = archived.house.write("log.jsonl", str::from_utf8(&log.body).unwrap());
        for (code, told) in archived.judged(&log, Some(kept), &[]).await {
            assert_eq!(code, Some(0), "{told}");
            assert!(told.contains("archived") && told.contains("proved by the tree"), "{told}");
        }
        for file in files {
            for (code, told) in archived.judged(&log, Some(kept), &["--archived", file]).await {
                assert_eq!(code, Some(0), "{told}");
                assert!(!told.contains("archived"), "{told}");
            }
        }
    }
    odd_files(&archived, &archived.house.folder().join("log.jsonl")).await;
    // Without a checkpoint that was kept it is the service's own that is beside what is archived.
    let log = org.get("/v1/log/deeds").await;
    let log = archived.house.write("log.jsonl", str::from_utf8(&log.body).unwrap());
    for (code, told) in archived.judged(&log, None, &[]).await {
        assert_eq!(code, Some(0), "{told}");
        assert!(told.contains("proved by the tree"), "{told}");
    }
    // A check of the chain says what it left out.
    let asked = org.send(Request::post("/v1/ledger/chain_checks", &json!({}))).await.is(202);
    let path = format!("/v1/ledger/chain_checks/{}", asked["id"].as_str().unwrap());
    let done = eventually(async || {
        let check = org.read(&path).await;
        (check["status"] != "queued" && check["status"] != "running").then_some(check)
    });
    let done = done.await;
    assert_eq!((&done["status"], &done["archived"]), (&json!("passed"), &json!(256)), "{done}");
}
