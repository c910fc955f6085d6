//! What is accepted and refused, source by source.

use std::{collections::BTreeSet, os::unix::fs::PermissionsExt};

use super::{
    reader::Reader,
    sources::{self, Layers},
    table::{self, Accepts},
    *,
};

mod mail;
mod rows;

const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

fn file(text: &str) -> Sources {
    Sources { file: Some(text.to_owned().into()), ..Sources::default() }
}

fn prod() -> Sources {
    Sources::default()
        .with("SERVICE_ENV", "prod")
        .with("SERVICE_BASE_URL", "https://chancery.example")
        .with("SERVICE_VAULT_KEY", KEY)
        .with("SERVICE_API_KEY_PEPPER", KEY)
}

fn problems(sources: &Sources) -> Vec<String> {
    load(sources).expect_err("refused").problems.iter().map(Problem::to_string).collect()
}

#[test]
fn nothing_said_gives_the_defaults() {
    let settings = load(&Sources::default()).expect("defaults are accepted");
    assert_eq!(settings.env, Environment::Dev);
    assert_eq!(settings.listen.as_str(), "127.0.0.1:8080");
    assert_eq!(settings.base_url.as_str(), "http://127.0.0.1:8080");
    assert_eq!(settings.gate.wait_timeout.as_secs(), 10);
    assert_eq!(settings.private_networks, PrivateNetworks::Refused);
    assert!(settings.trusted_proxies.is_empty() && settings.warnings.is_empty());
}

#[test]
fn every_default_is_accepted_by_its_own_row() {
    for row in table::SERVER.iter().chain(table::FILE) {
        let Some(default) = row.default else { continue };
        let accepted = match row.accepts {
            Accepts::Span(..) => reader::ranged_span(row, default).is_some(),
            Accepts::Number(..) => reader::ranged_number(row, default).is_some(),
            Accepts::Word(words) => words.contains(&default),
            Accepts::Switch => switch(default).is_some(),
            Accepts::HostPort => HostPort::parse(default).is_some(),
            Accepts::Origin => Origin::parse(default).is_some(),
            _ => default.is_empty(),
        };
        assert!(accepted, "{}", row.name);
    }
}

#[test]
fn every_row_can_be_set_in_the_file_and_names_are_unique() {
    let rows: Vec<_> = table::SERVER.iter().chain(table::FILE).collect();
    let names: BTreeSet<_> = rows.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), rows.len());
    for row in rows.iter().filter(|row| !matches!(row.name, "SERVICE_ENV")) {
        let path = row.file_path().join(": {");
        let text = format!("{path}: [[]]{}", "}".repeat(path.matches('{').count()));
        let text = text.replace("[[]]", "' '");
        let found = load(&file(&text)).err().map_or(Vec::new(), |refused| refused.problems);
        let name = row.file_path().join(".");
        let is_read =
            found.iter().any(|problem| problem.setting == row.name || problem.setting == name);
        let lenient = matches!(row.accepts, Accepts::Path);
        assert!(is_read || lenient, "`{}` is not read: {found:?}", row.name);
    }
}

#[test]
fn ranges_are_closed_at_both_ends() {
    for row in table::SERVER.iter().chain(table::FILE) {
        let inside = |text: &str| match row.accepts {
            Accepts::Span(..) => reader::ranged_span(row, text).is_some(),
            _ => reader::ranged_number(row, text).is_some(),
        };
        let (least, most, unit) = match row.accepts {
            Accepts::Span(least, most) => (least, most, "ms"),
            Accepts::Number(least, most) => (least, most, ""),
            _ => continue,
        };
        assert!(inside(&format!("{least}{unit}")) && inside(&format!("{most}{unit}")));
        assert!(!inside(&format!("{}{unit}", most + 1)), "{}", row.name);
        assert!(least == 0 || !inside(&format!("{}{unit}", least - 1)), "{}", row.name);
    }
}

#[test]
fn the_first_source_that_says_something_wins() {
    let text =
        "server:\n  listen: 127.0.0.1:1\n  log_level: debug\n  metrics_listen: 127.0.0.1:4\n";
    let mut sources = file(text).with("SERVICE_LISTEN", "127.0.0.1:3");
    let dotenv = "# comment\nexport SERVICE_LISTEN='127.0.0.1:2'\nSERVICE_LOG_LEVEL = \"warn\"\n";
    sources.dotenv = Some(dotenv.to_owned().into());
    let settings = load(&sources).expect("accepted");
    assert_eq!(settings.listen.as_str(), "127.0.0.1:3");
    assert_eq!(settings.log_level.level(), tracing::Level::WARN);
    assert_eq!(settings.metrics_listen, HostPort::parse("127.0.0.1:4"));
}

#[test]
fn prod_ignores_dotenv() {
    let mut sources = prod();
    sources.dotenv = Some("SERVICE_LISTEN=0.0.0.0:1\nnonsense".to_owned().into());
    let settings = load(&sources).expect("accepted");
    assert_eq!(settings.listen.as_str(), "127.0.0.1:8080");
}

#[test]
fn dotenv_cannot_make_an_instance_prod() {
    let sources =
        Sources { dotenv: Some("SERVICE_ENV=prod".to_owned().into()), ..Sources::default() };
    let [problem] = problems(&sources).try_into().expect("one");
    assert!(problem.starts_with("`SERVICE_ENV` (`.env`)"), "{problem}");
}

#[test]
fn a_line_of_dotenv_that_is_none_is_named_and_not_shown() {
    let text = "SERVICE_LISTEN=127.0.0.1:1\nSERVICE_VAULT_KEY=\"unclosed-secret\n";
    let sources = Sources { dotenv: Some(text.to_owned().into()), ..Sources::default() };
    let [problem] = problems(&sources).try_into().expect("one");
    assert!(problem.contains("line 2") && !problem.contains("unclosed-secret"), "{problem}");
}

#[test]
fn every_problem_is_told_at_once_and_says_what_is_accepted() {
    let text = "gate:\n  wait_timeout: 26s\n  max_args_bytes: 262145\nserver:\n  log_level: loud\n\
                witnes: {inline_budget: 1s}\n";
    let sources = file(text)
        .with("SERVICE_LISTEN", "8080")
        .with("SERVICE_ALLOW_PRIVATE_NETWORKS", "yes")
        .with("SERVICE_ENV", "test");
    let found = problems(&sources);
    let expected = [
        "`SERVICE_LISTEN` (environment): expected a host and a port, such as `127.0.0.1:8080`",
        "`SERVICE_ALLOW_PRIVATE_NETWORKS` (environment): found `yes`, expected `true` or `false`",
        "`SERVICE_ENV` (environment): found `test`, expected one of `dev`, `prod`",
        "`SERVICE_LOG_LEVEL` (settings file, line 5, column 14): found `loud`, expected one of `error`, `warn`, `info`, `debug`, `trace`",
        "`gate.max_args_bytes` (settings file, line 3, column 19): found `262145`, expected a whole number from 1024 to 262144",
        "`gate.wait_timeout` (settings file, line 2, column 17): found `26s`, expected a duration from `0s` to `25s`, such as `25s`",
        "`witnes.inline_budget` (settings file, line 6, column 25): unknown setting; did you mean `witness.inline_budget`?",
    ];
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected.map(String::from).into());
}

#[test]
fn a_secret_never_stands_in_a_message_or_in_debug() {
    let secret = "hunter2-hunter2";
    let url = format!("mysql://user:{secret}@db/x");
    let mut sources =
        file(&format!("server:\n  vault_key: {secret}\n  migrate_database_url: {url}\n"))
            .with("SERVICE_DATABASE_URL", url)
            .with("SERVICE_API_KEY_PEPPER", secret)
            .with("SERVICE_BASE_URL", format!("https://user:{secret}@host"));
    let found = problems(&sources);
    assert_eq!(found.len(), 5, "{found:?}");
    assert!(!found.join("\n").contains(secret));
    assert!(!format!("{sources:?}").contains(secret));
    sources = Sources::default()
        .with("SERVICE_DATABASE_URL", format!("postgres://user:{secret}@db/x"))
        .with("SERVICE_API_KEY_PEPPER", KEY)
        .with("SERVICE_VAULT_KEY", KEY);
    let debug = format!("{:?}", load(&sources).expect("accepted"));
    assert!(!debug.contains(secret) && !debug.contains(KEY), "{debug}");
}

#[test]
fn prod_tells_all_its_refusals_at_once() {
    let text = format!("server:\n  api_key_pepper: {KEY}\n");
    let sources = file(&text)
        .with("SERVICE_ENV", "prod")
        .with("SERVICE_ALLOW_PRIVATE_NETWORKS", "true")
        .with("SERVICE_DECODER_PAUSE", "true")
        .with("SERVICE_DATABASE_URL", "postgres://u:p@db.example/x?sslmode=prefer")
        .with("SERVICE_MIGRATE_DATABASE_URL", "postgres://u:p@10.0.0.7/x")
        .with("SERVICE_LISTN", "127.0.0.1:1");
    let settings: BTreeSet<_> =
        load(&sources).expect_err("refused").problems.into_iter().map(|it| it.setting).collect();
    let expected = [
        "SERVICE_ALLOW_PRIVATE_NETWORKS",
        "SERVICE_API_KEY_PEPPER",
        "SERVICE_BASE_URL",
        "SERVICE_DATABASE_URL",
        "SERVICE_DECODER_PAUSE",
        "SERVICE_LISTN",
        "SERVICE_MIGRATE_DATABASE_URL",
        "SERVICE_VAULT_KEY",
    ];
    assert_eq!(settings, expected.map(String::from).into());
}

#[test]
fn a_safe_prod_is_accepted() {
    for url in [
        "postgres://u:p@db.example/x?sslmode=require",
        "postgresql://u:p@db.example/x?sslmode=verify-full",
        "postgres://u:p@127.0.0.1:5432/x",
        "postgres://u:p@[::1]/x",
        "postgres://u@localhost/x",
        "postgres:///x?host=/run/postgresql",
    ] {
        let settings = load(&prod().with("SERVICE_DATABASE_URL", url)).map_err(|it| it.to_string());
        assert!(settings.is_ok(), "{url}: {settings:?}");
    }
    let mixed = "postgres://u:p@127.0.0.1,db.example/x";
    assert_eq!(problems(&prod().with("SERVICE_DATABASE_URL", mixed)).len(), 1);
    let behind_a_local_name = "postgres://u:p@localhost/x?hostaddr=10.0.0.7";
    assert_eq!(problems(&prod().with("SERVICE_DATABASE_URL", behind_a_local_name)).len(), 1);
}

#[test]
fn dev_warns_of_an_unknown_variable() {
    let settings = load(&Sources::default().with("SERVICE_LISTN", "x")).expect("accepted");
    let [warning] = settings.warnings.try_into().expect("one");
    assert!(warning.contains("did you mean `SERVICE_LISTEN`?"), "{warning}");
}

#[test]
fn what_has_no_effect_is_told_in_one_sentence_and_not_refused() {
    let text = "undo: {max_rows: soon}\nmcp: {upstreams: {files: {url: 'https://h'}}}\n";
    for sources in [file(text), Sources { file: Some(text.to_owned().into()), ..prod() }] {
        let [warning] = load(&sources).expect("accepted").warnings.try_into().expect("one");
        assert_eq!(
            warning,
            "set, but without effect in this version: \
             `mcp.upstreams.files.url`, `undo.max_rows`"
        );
    }
    let read = file("gate: {wait_timeout: 1s}\n").with("SERVICE_LISTEN", "127.0.0.1:1");
    assert!(load(&read).expect("accepted").warnings.is_empty());
}

#[test]
fn every_setting_without_effect_is_known_and_one_like_it_is_not() {
    for name in table::IDLE {
        let path =
            table::file_path(name).join(": {").replace("<name>", "up").replace("<header>", "h");
        let closing = "}".repeat(path.matches('{').count());
        let warnings = load(&file(&format!("{path}: x{closing}\n"))).expect(name).warnings;
        assert_eq!(warnings.len(), 1, "{name}: {warnings:?}");
        // A name with a part that anybody chooses has none beside it that is unknown.
        if !name.contains('<') {
            let strange = problems(&file(&format!("{path}s: x{closing}\n"))).concat();
            assert!(strange.contains("did you mean"), "{strange}");
        }
    }
}

#[test]
fn yaml_that_hides_something_is_refused_by_line_and_column_alone() {
    let cases = [
        ("gate: &a {wait_timeout: 1s}\n", "line 1, column 10", "anchors"),
        ("gate: *a\n", "line 1, column 7", "aliases"),
        ("gate:\n  <<: {wait_timeout: 1s}\n", "line 2, column 3", "merge keys"),
        ("gate:\n  wait_timeout: !!str 1s\n", "line 2, column 23", "tags"),
        ("!x gate: {}\n", "line 1, column 4", "tags"),
        ("gate: {}\n---\nwitness: {}\n", "line 2, column 1", "one document"),
        ("- gate\n", "line 1, column 1", "one mapping"),
        ("gate\n", "line 1, column 1", "one mapping"),
        ("gate: {}\ngate: {}\n", "line 2, column 1", "duplicate key"),
        ("gate: {wait_timeout: [[1]]}\n", "line 1, column 23", "a string in this list"),
        ("server: {vault_key: \"s3cret\n", "line", "not valid YAML"),
        ("%YAML 1.2\n---\ngate: {}\n", "line 1", "not valid YAML"),
    ];
    for (text, place, word) in cases {
        let [problem] = problems(&file(text)).try_into().expect("one");
        assert!(problem.contains(place) && problem.contains(word), "{text:?}: {problem}");
        assert!(!problem.contains("s3cret"), "{problem}");
    }
    let deep = format!("{}x", "a: {".repeat(9)) + &"}".repeat(9);
    assert_eq!(problems(&file(&deep)).len(), 1);
    let large = format!("#{}", " ".repeat(yaml::MAX_BYTES));
    assert!(problems(&file(&large)).concat().contains("the maximum is 65536"));
}

#[test]
fn empty_files_and_sections_say_nothing() {
    for text in ["", "# nothing\n", "gate:\n", "gate: ~\nwitness: {}\n", "~\n"] {
        assert!(load(&file(text)).is_ok(), "{text:?}");
    }
    assert!(problems(&file("gate: 5\n")).concat().contains("this is a section"));
}

#[test]
fn networks_and_addresses_are_parsed_strictly() {
    let sources = Sources::default()
        .with("SERVICE_TRUSTED_PROXIES", "10.0.0.0/8, fd00::/8")
        .with("SERVICE_LISTEN", "[::1]:80");
    let settings = load(&sources).expect("accepted");
    assert_eq!(settings.trusted_proxies.len(), 2);
    for (name, text) in [
        ("SERVICE_TRUSTED_PROXIES", "10.0.0.1/8"),
        ("SERVICE_TRUSTED_PROXIES", "10.0.0.0/8,"),
        ("SERVICE_EGRESS_ALLOW_CIDRS", "10.0.0.1"),
        ("SERVICE_LISTEN", "user@host:80"),
        ("SERVICE_LISTEN", "host:99999"),
        ("SERVICE_BASE_URL", "https://host/path"),
        ("SERVICE_BASE_URL", "https://host?x"),
        ("SERVICE_BASE_URL", "https://host//"),
        ("SERVICE_VAULT_KEY", "AAAA"),
        ("SERVICE_API_KEY_PEPPER", "AAAA"),
        ("SERVICE_DATABASE_URL", "postgres://u@h"),
        ("SERVICE_ALLOW_PRIVATE_NETWORKS", "TRUE"),
        ("SERVICE_LOG_LEVEL", "INFO"),
    ] {
        assert_eq!(problems(&Sources::default().with(name, text)).len(), 1, "{name}={text}");
    }
}

#[test]
fn durations_print_as_people_write_them() {
    for (millis, text) in
        [(0, "0s"), (100, "100ms"), (1500, "1500ms"), (60_000, "1m"), (604_800_000, "168h")]
    {
        assert_eq!(span::print(millis), text);
        assert_eq!(span::parse(text).map(|span| span.as_millis()), Some(millis.into()));
    }
    for text in ["", "10", "10 s", "1.5s", "-1s", "1d", "s", "99999999999999999999s", "1h30m"] {
        assert_eq!(span::parse(text), None, "{text:?}");
    }
}

#[test]
fn the_page_lists_every_setting() {
    let page = settings_markdown();
    for row in table::SERVER.iter().chain(table::FILE) {
        assert!(page.contains(&format!("| `{}` |", row.name)), "{}", row.name);
    }
    let roadmap = include_str!("../../../../docs/roadmap.md");
    for name in table::IDLE {
        assert!(page.contains(&format!("| `{name}` | no effect in this version |")), "{name}");
        assert!(roadmap.contains(&format!("| `{name}` |")), "{name}");
    }
    assert!(page.contains("| `gate.wait_timeout` | `0s` to `25s` | `10s` |"), "{page}");
}

#[test]
fn a_name_missing_in_the_table_is_a_problem_and_no_silent_default() {
    let layers = Layers::default();
    let mut reader = Reader::new(&layers);
    assert!(reader.span("gate.nothing").is_zero());
    assert_eq!(reader.problems.len(), 1);
    assert!(sources::dotenv("A=1").is_ok());
}

#[test]
fn prod_refuses_a_seal_key_file_that_everybody_reads() {
    let path = std::env::temp_dir().join(format!("chancery-open-{}.pem", std::process::id()));
    std::fs::write(&path, "keys").unwrap();
    let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    let sources = prod().with("SERVICE_SEAL_KEY_FILE", path.to_str().unwrap());
    for (bits, refused) in [(0o644, 1), (0o604, 1), (0o640, 0), (0o600, 0)] {
        mode(bits);
        let found = load(&sources).map_or_else(|problems| problems.to_string(), |_| String::new());
        assert_eq!(found.matches("SERVICE_SEAL_KEY_FILE").count(), refused, "{bits:o}: {found}");
    }
    std::fs::remove_file(path).unwrap();
}
