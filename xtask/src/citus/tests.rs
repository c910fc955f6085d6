use super::log::{executed, is_planned, shortened, values};
use super::record::Sample;
use super::replay::{Answer, Outcome, Plan, SESSION, answers, script};
use super::*;

/// A line of a server's log.
fn line(user: &str, message: &str, detail: Option<&str>) -> String {
    let mut entry = serde_json::json!({
        "timestamp": "2026-01-01 00:00:00.000 UTC", "user": user, "dbname": "chancery_test_1",
        "error_severity": "LOG", "message": message, "application_name": "chancery",
    });
    if let Some(detail) = detail {
        entry["detail"] = detail.into();
    }
    format!("{entry}\n")
}

#[test]
fn statements_are_replayed_under_the_settings_of_the_service() {
    let settings = |source: &str| {
        let (_, rest) = source.split_once("const SESSION: &str = \"").unwrap();
        rest.split_once("\";").unwrap().0.to_owned()
    };
    let service = include_str!("../../../crates/store-postgres/src/connect.rs");
    assert_eq!(settings(include_str!("replay.rs")), settings(service));
}

fn sample(sql: &str, values: &[&str]) -> Sample {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    Sample { sql: sql.to_owned(), values }
}

fn answer(state: &str, tasks: Option<u32>) -> Answer {
    let message = if state == "00000" { "" } else { "it was refused" };
    let outcome = Outcome { state: state.to_owned(), message: message.to_owned() };
    Answer { outcome, plan: tasks.map(of) }
}

fn of(tasks: u32) -> Plan {
    Plan { tasks, is_pulled: false }
}

fn folder_of_store(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/store-postgres/src");
    fs::read_to_string(folder.join(file)).unwrap()
}

#[test]
fn values_are_taken_as_they_are_written() {
    let detail = "parameters: $1 = 'a, $2 = ''b''', $2 = NULL, $3 = 'two\nlines', $4 = ''";
    assert_eq!(values(detail).unwrap(), ["'a, $2 = ''b'''", "NULL", "'two\nlines'", "''"]);
    assert_eq!(values("Parameters: $1 = 'NULL'").unwrap(), ["'NULL'"]);
    let ten: Vec<_> = (1..=11).map(|number| format!("${number} = '{number}'")).collect();
    assert_eq!(values(&format!("parameters: {}", ten.join(", "))).unwrap()[10], "'11'");
    assert_eq!(values("parameters: $1 = '\\x00', $2 = 'é'''").unwrap(), ["'\\x00'", "'é'''"]);
}

#[test]
fn values_that_read_otherwise_are_none() {
    for detail in [
        "prepare: select $1",
        "parameters: $2 = 'a'",
        "parameters: $1 = 'a",
        "parameters: $1 = 'a''",
        "parameters: $1 = 'a'; $2 = 'b'",
        "parameters: $1 = 'a', ",
        "parameters: $1 = a",
        "parameters",
    ] {
        assert_eq!(values(detail), None, "{detail}");
    }
}

#[test]
fn only_what_is_executed_is_a_statement() {
    assert_eq!(executed("execute s12: select 1"), Some("select 1"));
    assert_eq!(executed("execute <unnamed>:\n"), None);
    assert_eq!(executed("execute <unnamed>: \n  select 1 :: int;\n"), Some("select 1 :: int"));
    assert_eq!(executed("execute s1/p2: select 1"), Some("select 1"));
    assert_eq!(executed("duration: 0.120 ms  execute s1: select 1"), Some("select 1"));
    assert_eq!(executed("duration: 0.120 ms  bind s1: select 1"), None);
    assert_eq!(executed("execute fetch from s1/p2: select 1"), None);
    assert_eq!(executed("statement: select 1"), None);
    assert_eq!(executed("connection authorized: user=chancery_test"), None);
}

#[test]
fn a_plan_is_made_of_what_reads_or_writes_rows() {
    for sql in ["select 1", "\n  -- why\n  with a as (select 1) select", "((values (1)))", "INSERT"]
    {
        assert!(is_planned(sql), "{sql}");
    }
    for sql in ["begin", "set local a = 'select'", "savepoint selected", "", "-- select"] {
        assert!(!is_planned(sql), "{sql}");
    }
}

#[test]
fn a_text_is_kept_with_values_that_differ_in_what_is_null_or_empty() {
    let mut recording = Recording::default();
    let sql = "select id from action where org_id = $1 and state = any($2)";
    for detail in [
        "$1 = 'a', $2 = '{x}'",
        "$1 = 'b', $2 = '{y}'",
        "$1 = 'b', $2 = NULL",
        "$1 = 'b', $2 = '{}'",
        "$1 = NULL, $2 = NULL",
    ] {
        let detail = format!("parameters: {detail}");
        recording
            .take(&line("chancery_test", &format!("execute s0: {sql}"), Some(&detail)))
            .unwrap();
    }
    recording.take(&line("chancery_test", "execute s1: (select 1)", None)).unwrap();
    for text in ["begin", "set local lock_timeout = 1", "savepoint selected", "commit"] {
        recording.take(&line("chancery_test", &format!("execute s2: {text}"), None)).unwrap();
    }
    recording.take(&line("postgres", "execute s0: select chancery_test()", None)).unwrap();
    recording.take(&line("postgres", "statement: create role chancery_test", None)).unwrap();
    let expected = [
        sample("(select 1)", &[]),
        sample(sql, &["'a'", "'{x}'"]),
        sample(sql, &["'b'", "'{}'"]),
        sample(sql, &["'b'", "NULL"]),
    ];
    assert_eq!(recording.samples(), expected);
    let left_out = recording.left_out();
    let (_, left_out) = left_out.split_once(": ").unwrap();
    assert_eq!(left_out, "begin; commit; savepoint selected; set local lock_timeout = 1");
}

#[test]
fn a_strange_line_of_the_service_is_told() {
    let mut recording = Recording::default();
    recording.take("not json, of somebody else\n").unwrap();
    let strange = line("chancery_test", "execute s0: select $1", Some("parameters: $1 = 'a"));
    for line in ["chancery_test, not json\n", &strange] {
        let said = recording.take(line).unwrap_err().to_string();
        assert!(said.contains("has a strange line"), "{said}");
    }
}

#[test]
fn a_log_is_read_to_its_end_and_no_further() {
    let file = std::env::temp_dir().join(format!("xtask-statements-{}", std::process::id()));
    let entry = |sql: &str| line("chancery_test", &format!("execute s0: {sql}"), None);
    let end = line("postgres", &format!("statement: {}", record::END), None);
    fs::write(&file, [entry("select 1"), end, entry("select 2")].concat()).unwrap();
    let recording = record::read(&file);
    fs::remove_file(&file).unwrap();
    assert_eq!(recording.unwrap().samples(), [sample("select 1", &[])]);
}

#[test]
fn the_script_takes_each_step_by_itself() {
    let samples = [sample("select 1 -- one", &[]), sample("select $1", &["'it''s'", "NULL"])];
    let script = script(&samples, Path::new("/tmp/it's.txt"));
    assert!(script.starts_with("\\o '/tmp/it''s.txt'\n"), "{script}");
    for part in [
        "prepare p as\nselect 1 -- one\n;\n\\qecho @@ 0 prepared :SQLSTATE :LAST_ERROR_MESSAGE\n",
        "begin;\nexplain (costs off) execute p;\n\\qecho @@ 0 explained ",
        "rollback;\nbegin;\nexecute p('it''s', NULL)\n\\g /dev/null\n\\qecho @@ 1 executed ",
    ] {
        assert!(script.contains(part), "{script}");
    }
}

#[test]
fn answers_are_read_from_what_the_client_prints() {
    let printed = "\
@@ 0 prepared 00000 \n\
Custom Scan (Citus Adaptive)
  ->  Distributed Subplan 1_1
        ->  Custom Scan (Citus Adaptive)
              Task Count: 8
              Tasks Shown: One of 8
  Task Count: 1
@@ 0 explained 00000 an older message
@@ 0 executed 00000 an older message
@@ 1 prepared 42P01 relation \"x\" does not exist
of two lines
@@ 1 explained 26000 prepared statement \"p\" does not exist
@@ 1 executed 26000 prepared statement \"p\" does not exist
@@ 2 prepared 00000 prepared statement \"p\" does not exist
Result
@@ 2 explained 00000 prepared statement \"p\" does not exist
@@ 2 executed 23505 duplicate key
@@ 3 prepared 00000 duplicate key
Custom Scan (Citus INSERT ... SELECT)
  INSERT/SELECT method: pull to coordinator
  ->  Function Scan on unnest r
@@ 3 explained 00000 duplicate key
@@ 3 executed 00000 duplicate key
@@ 4 prepared 00000 duplicate key
  Task Count: 2
";
    let answers = answers(printed);
    let (nothing, message) = (String::new(), "relation \"x\" does not exist".to_owned());
    let done = Outcome { state: "00000".to_owned(), message: nothing };
    let lacking = Outcome { state: "42P01".to_owned(), message };
    let twice = Outcome { state: "23505".to_owned(), message: "duplicate key".to_owned() };
    let expected = [
        Answer { outcome: done.clone(), plan: Some(of(9)) },
        Answer { outcome: lacking, plan: None },
        Answer { outcome: twice, plan: Some(of(0)) },
        Answer { outcome: done, plan: Some(Plan { tasks: 0, is_pulled: true }) },
    ];
    assert_eq!(answers, expected);
}

#[test]
fn the_report_has_totals_what_is_spread_wide_and_what_differs() {
    let samples = [
        sample("select\n  a", &[]),
        sample("select b", &["'1'"]),
        sample("select b", &["NULL"]),
        sample("select c", &[]),
        sample("select d", &[]),
        sample("select e", &[]),
        sample("select f", &[]),
    ];
    let plain = ["00000", "00000", "00000", "00000", "42501", "22012", "00000"];
    let citus = [
        answer("00000", Some(8)),
        answer("00000", Some(1)),
        answer("0A000", None),
        answer("00000", Some(0)),
        answer("00000", Some(1)),
        answer("22012", Some(1)),
        Answer { plan: Some(Plan { tasks: 1, is_pulled: true }), ..answer("00000", None) },
    ];
    let plain = plain.map(|state| answer(state, Some(0)));
    let compared = Compared { samples: &samples, plain: plain.into(), citus: citus.into() };
    let table = "\
|                | statements | samples |
|----------------|-----------:|--------:|
| sent           |          6 |       7 |
| same answer    |          4 |       5 |
| both refuse    |          1 |       1 |
| one task       |          3 |       3 |
| by coordinator |          1 |       1 |
| several tasks  |          1 |       1 |
| no task        |          1 |       1 |
| no plan shown  |          0 |       1 |";
    assert_eq!(compared.table(), table);
    let far = [
        "of several tasks (8 are every shard):",
        "   8  select a",
        "by the coordinator, which sends each row to its shard:",
        "   1  select f",
    ];
    assert_eq!(compared.far(), far);
    let failures = [
        "plain 00000, Citus 0A000: it was refused\nsample 2: select b",
        "plain 42501, Citus 00000: it was refused\nsample 4: select d",
    ];
    assert_eq!(compared.failures(), failures);
}

#[test]
fn a_statement_is_shown_on_one_line_that_ends() {
    assert_eq!(shortened("\n  select a,\n    b\n"), "select a, b");
    let long = shortened(&"é ".repeat(200));
    assert_eq!((long.chars().count(), long.ends_with('…')), (161, true));
}

#[test]
fn a_table_is_cut_into_as_many_shards_as_the_report_says() {
    assert!(cluster::SETTINGS.contains(&format!("citus.shard_count = {}\n", cluster::SHARDS)));
}

#[test]
fn the_session_is_set_as_the_service_sets_its_own() {
    let source = folder_of_store("connect.rs");
    let (_, behind) = source.split_once("const SESSION: &str = \"").unwrap();
    let (text, _) = behind.split_once("\";").unwrap();
    let text = text.replace("\\\n", "").replace("\\\\", "\\");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(SESSION), words(&text));
}

#[test]
fn the_role_is_the_one_that_the_service_has_in_tests() {
    let source = folder_of_store("testing.rs");
    let (role, password) = ROLE;
    assert!(source.contains(&format!("const ROLE: &str = \"{role}\";")));
    assert!(source.contains(&format!("const PASSWORD: &str = \"{password}\";")));
}

#[test]
fn a_folder_without_a_server_is_refused_by_name() {
    let said = launcher(Path::new("/nowhere/bin")).unwrap_err().to_string();
    assert!(said.contains("`/nowhere/bin` lacks `postgres`, `initdb`, `pg_ctl`, `psql`"), "{said}");
}
