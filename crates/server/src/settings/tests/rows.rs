//! Every row of the tables of settings: its default, both ends of its range and what lies past
//! them, and values of the wrong kind.

use super::*;
use crate::settings::table::Row;

/// The sources that say this of the row, in the file or in the environment.
fn said(row: &Row, value: &str) -> Sources {
    if row.name.starts_with("SERVICE_") {
        return Sources::default().with(row.name, value);
    }
    let path = row.file_path().join(": {");
    let closing = "}".repeat(path.matches('{').count());
    file(&format!("{{{path}: {value}{closing}}}\n"))
}

fn accepted(row: &Row, value: &str) -> String {
    match load(&said(row, value)) {
        Ok(settings) => format!("{:?}", Settings { warnings: Vec::new(), ..settings }),
        Err(refused) => panic!("`{}` refuses `{value}`: {refused}", row.name),
    }
}

/// Asserts that the value is refused, with the row's name and what it accepts.
fn refused(row: &Row, value: &str) {
    let problems = match load(&said(row, value)) {
        Ok(_) => panic!("`{}` takes `{value}`", row.name),
        Err(refused) => refused.problems,
    };
    let [problem] = problems.as_slice() else { panic!("{}: {problems:?}", row.name) };
    assert_eq!(problem.setting, row.name, "{problem}");
    assert!(problem.sentence.contains(&row.accepts.expected()), "{problem}");
}

fn rows() -> impl Iterator<Item = &'static Row> {
    table::SERVER.iter().chain(table::FILE)
}

#[test]
fn the_tables_have_every_setting_of_the_interface() {
    assert_eq!((table::SERVER.len(), table::FILE.len(), table::IDLE.len()), (27, 33, 11));
}

#[test]
fn every_range_is_taken_from_end_to_end_and_no_farther() {
    let mut seen = 0;
    for row in rows() {
        let (least, most, unit) = match row.accepts {
            Accepts::Span(least, most) => (least, most, "ms"),
            Accepts::Number(least, most) => (least, most, ""),
            _ => continue,
        };
        seen += 1;
        let default = row.default.expect("a row with a range has a default");
        let unsaid = accepted(row, default);
        for end in [least, most] {
            let value = format!("{end}{unit}");
            let settings = accepted(row, &value);
            let is_default = span::parse(default)
                .is_some_and(|span| span.as_millis() == end.into())
                || default == value;
            assert_eq!(settings == unsaid, is_default, "`{}` = {value} has no effect", row.name);
        }
        refused(row, &format!("{}{unit}", most + 1));
        if least > 0 {
            refused(row, &format!("{}{unit}", least - 1));
        }
    }
    assert_eq!(seen, 35);
}

#[test]
fn what_a_default_says_is_what_silence_means() {
    for row in rows() {
        let Some(default) = row.default.filter(|default| !default.is_empty()) else { continue };
        let silence = load(&Sources::default()).expect("accepted");
        assert_eq!(accepted(row, default), format!("{silence:?}"), "{}", row.name);
    }
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_by_every_row() {
    for row in rows() {
        let wrong: &[&str] = match row.accepts {
            Accepts::Span(..) => &["5", "1.5s", "-1s", "1d", "s", "soon", "1h30m"],
            Accepts::Number(..) => &["5s", "1.5", "-1", "+5", "0x10", "1e3", "many"],
            Accepts::Switch => &["yes", "on", "1", "True", "FALSE"],
            Accepts::Word(_) => &["other", "DEV", "1"],
            Accepts::HostPort => &["8080", "host", "host:99999", "u@host:1"],
            Accepts::Origin => &["host", "ftp://h", "https://h/path", "https://u@h"],
            Accepts::Database => &["mysql://h/d", "postgres://h", "host"],
            Accepts::VaultRing | Accepts::Pepper => &["AAAA", "not base64!"],
            Accepts::Networks => &["10.0.0.1", "10.0.0.1/8", "network", "10.0.0.0/8 fd00::/8"],
            Accepts::Address => &["ann", "Ann <ann@example.com>", "a@example.com, b@example.com"],
            Accepts::Line => &["two\nlines", "\u{7}"],
            // Any text is a path.
            Accepts::Path => continue,
        };
        for value in wrong {
            let value = if row.name.starts_with("SERVICE_") {
                (*value).to_owned()
            } else {
                format!("'{value}'")
            };
            refused(row, &value);
        }
    }
}

#[test]
fn a_list_or_a_section_in_place_of_one_value_is_refused() {
    for row in table::FILE {
        refused(row, "[a]");
        let problems = load(&said(row, "{a: 1}")).expect_err("a section").problems;
        assert!(problems.iter().all(|problem| problem.setting.contains('.')), "{problems:?}");
    }
}

#[test]
fn a_database_is_named_by_where_it_is_and_never_by_its_password() {
    for (url, place) in [
        ("postgres://app:s3cret@db.internal/chancery", "db.internal:5432"),
        ("postgres://app@10.0.0.1:6432/chancery", "10.0.0.1:6432"),
        ("postgres://app@[::1]:6432/chancery", "[::1]:6432"),
        ("postgres://app@one:1,two:2/chancery", "one:1, two:2"),
        ("postgres://app@/chancery?host=/run/postgresql", "/run/postgresql/.s.PGSQL.5432"),
        ("postgres://app@/chancery?hostaddr=10.0.0.2", "10.0.0.2:5432"),
    ] {
        assert_eq!(Database::parse(url).expect(url).place(), place);
    }
}
