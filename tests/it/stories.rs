//! The two verbs that tell the whole story: `demo` in memory, `up` on a PostgreSQL.

use std::{fs, net::TcpListener, os::unix::fs::symlink, path::Path, process::Stdio};

use tokio::process::Command;

use crate::{
    house::{OwnPostgres, binaries, name},
    up::{Up, up},
};

const README: &str = include_str!("../../README.md");
const PEOPLE: &str = include_str!("../../docs/people.md");

/// What a section of a page says to type, run as it is printed beside a demo that serves.
async fn run_on_the_demo(page: &str, section: &str) -> Option<String> {
    let (binaries, postgres) = (binaries()?, OwnPostgres::new()?);
    let section = page.split(&format!("\n## {section}\n")).nth(1).unwrap();
    let script = section.split("\n```sh\n").nth(1).unwrap().split("```").next().unwrap();
    // A checkout in which the demo was built and serves.
    let folder = std::env::temp_dir().join(name());
    fs::create_dir_all(folder.join("target/release")).unwrap();
    symlink(&binaries.plain, folder.join("target/release/chancery")).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    symlink(root.join("crates"), folder.join("crates")).unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let data = folder.join(".chancery/service");
    let demo = Up::start(&postgres, data.to_str().unwrap(), &["--port", &free]).await;
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", script]).current_dir(&folder).env_clear();
    shell.env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    let output = shell.output().await.unwrap();
    demo.stop().await;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    fs::remove_dir_all(folder).unwrap();
    Some(said)
}

#[tokio::test]
async fn each_line_of_five_minutes_further_runs_as_printed_on_the_demo() {
    let Some(said) = run_on_the_demo(README, "Five minutes further").await else { return };
    for told in
        ["\"status\":\"executed\"", "version 2 of", "Version 2 of the policy `demo`.", "tools fit"]
    {
        assert!(said.contains(told), "{told}: {said}");
    }
    assert_eq!(said.matches("VALID: ").count(), 2, "{said}");
}

#[tokio::test]
async fn a_person_signs_in_joins_and_stops_everything_by_the_lines_of_the_page() {
    let Some(said) = run_on_the_demo(PEOPLE, "By hand, on the demo").await else { return };
    for told in [
        "\"reason\":\"A drill.\"",
        "\"stop\":null",
        "VALID",
        "member.added mem_",
        "\"intent_key\"",
        "\"pending_approvals\":\"keep\"",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }
    assert!(!said.contains("INVALID"), "{said}");
    let ran = said.lines().find(|line| line.contains("shop.customers.read")).unwrap();
    assert!(ran.contains("\"status\":\"executed\""), "{ran}");
    let intent = said.lines().find(|line| line.starts_with("\"intent\":")).unwrap();
    assert!(intent.contains("\"status\":\"verified\""), "its signature counts: {intent}");
}

#[tokio::test]
async fn up_leaves_a_database_and_a_role_that_it_did_not_make_as_they_are() {
    if binaries().is_none() {
        return;
    }
    let Some(postgres) = OwnPostgres::new() else { return };
    let folder = std::env::temp_dir().join(name());
    let folder = folder.to_str().unwrap();
    let theirs = "create role svc_conn login password 'theirs'";
    postgres.cluster.run(theirs).await;
    postgres.cluster.run("create database shop").await;
    let shop = postgres.cluster.database("shop");
    shop.run("create table orders (id int); insert into orders values (1)").await;
    let password = "select count(*) from pg_authid where rolpassword is not null";
    let passwords = shop.count(password).await;
    for more in [&[][..], &["--fresh"]] {
        let refused = up(&postgres, folder, more).output().await.unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("database shop, role svc_conn"), "{said}");
        assert!(said.contains("comment on database shop is"), "{said}");
        assert_eq!(shop.count("select count(*) from orders").await, 1);
        let made = "select count(*) from pg_database where datname like 'chancery%'";
        assert_eq!((shop.count(made).await, shop.count(password).await), (0, passwords));
    }
    fs::remove_dir_all(folder).unwrap();
}
