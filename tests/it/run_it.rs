//! `docs/run-it.md` as somebody does it who has nothing yet: its own text, in one shell, on a fresh
//! cluster. What is marked as not run there is held to the table of settings.

use std::{
    collections::BTreeSet,
    fs,
    net::TcpListener,
    os::unix::fs::symlink,
    process::{Command, Stdio},
};

use crate::house::{OwnPostgres, binaries, name, program};

const PAGE: &str = include_str!("../../docs/run-it.md");
const SETTINGS: &str = include_str!("../../docs/settings.md");

/// The fences with this after their opening mark.
fn fences(of: &str) -> Vec<&'static str> {
    let opening = format!("\n```{of}\n");
    let blocks = PAGE.split(opening.as_str()).skip(1);
    blocks.filter_map(|rest| rest.split("```").next()).collect()
}

/// What a shell takes for the names of variables that a text sets.
fn exported(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("export "));
    lines.filter_map(|line| line.split('=').next()).collect()
}

#[test]
fn every_setting_that_the_page_names_is_one() {
    let mut named = BTreeSet::new();
    for rest in PAGE.split("SERVICE_").skip(1) {
        let end = rest.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap();
        named.insert(format!("SERVICE_{}", rest.split_at(end).0));
    }
    assert!(named.len() > 8, "{named:?}");
    for name in named {
        assert!(SETTINGS.contains(&format!("| `{name}` |")), "`{name}` is no setting");
    }
}

#[test]
fn the_unit_is_one_that_systemd_reads() {
    let [unit] = fences("ini not-run")[..] else { panic!("expected one unit") };
    let Some(binaries) = binaries() else { return };
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("left out: the unit is read by `systemd-analyze`");
        return;
    }
    let folder = std::env::temp_dir().join(name());
    fs::create_dir_all(&folder).unwrap();
    let unit = unit.replace("/usr/local/bin/chancery", binaries.plain.to_str().unwrap());
    fs::write(folder.join("chancery.service"), unit).unwrap();
    let mut command = Command::new("systemd-analyze");
    let output = command.args(["verify", "--man=no", "./chancery.service"]).current_dir(&folder);
    let output = output.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let about_it: Vec<_> = said.lines().filter(|line| line.contains("chancery.service")).collect();
    assert!(about_it.is_empty(), "{said}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn each_command_of_the_page_runs_as_printed_on_a_fresh_cluster() {
    let (Some(binaries), Some(postgres)) = (binaries(), OwnPostgres::new()) else { return };
    let folder = std::env::temp_dir().join(name());
    let path = folder.join("bin");
    fs::create_dir_all(&path).unwrap();
    symlink(&binaries.plain, path.join("chancery")).unwrap();
    let cluster = &postgres.cluster;
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let chosen = [
        ("ADMIN_URL", cluster.database("postgres").superuser_url()),
        ("DATABASE", format!("{}:{}", cluster.host, cluster.port)),
        ("LISTEN", free.to_string()),
        ("BASE_URL", "https://chancery.example".to_owned()),
    ];
    let names: BTreeSet<_> = chosen.iter().map(|(name, _)| *name).collect();
    assert_eq!(exported(&fences("sh not-run").concat()), names, "what the reader chooses");
    let commands = fences("sh").join("\n");
    // Whatever fails, the service of this test goes with it.
    let script =
        format!("set -eu -o pipefail\ntrap 'kill -9 $(jobs -p) 2>&- || true' EXIT\n{commands}");
    let postgres = program("CHANCERY_PG_BIN").unwrap();
    let found = format!("{}:{}:/usr/bin:/bin", path.display(), postgres.display());
    let mut command = Command::new("bash");
    command.args(["-c", &script]).current_dir(&folder).env_clear().envs(chosen);
    command.env("PATH", found).env("HOME", &folder).stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    let log = fs::read_to_string(folder.join("serve.log")).unwrap_or_default();
    assert!(output.status.success(), "{said}\n{complained}\n{log}");
    assert_eq!(said.matches("VALID: ").count(), 3, "{said}");
    assert!(said.contains("the log grew from it"), "{said}");
    assert!(said.contains("the schema is already up to date"), "{said}");
    for secret in ["agent.key", "auditor.key", "admin.key"] {
        let key = fs::read_to_string(folder.join(secret)).unwrap();
        assert!(key.lines().count() == 1 && !said.contains(key.trim()), "`{secret}`");
    }
    drop(postgres);
    fs::remove_dir_all(folder).unwrap();
}
