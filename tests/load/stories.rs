//! The two verbs that show the whole product, and how long each takes.

use std::{
    fs,
    time::{Duration, Instant},
};

use tokio::process::Command;

use crate::{
    house::{OwnPostgres, binaries, name},
    up::Up,
};

/// Far more than it takes: a test on a busy machine says nothing of speed.
const TOLD_WITHIN: Duration = Duration::from_secs(5);

#[tokio::test]
async fn the_demo_tells_of_a_changed_byte_and_a_cut_tail_and_ends_well() {
    let Some(binaries) = binaries() else { return };
    let began = Instant::now();
    let output = Command::new(binaries.plain).arg("demo").env_clear().output().await.unwrap();
    let took = began.elapsed();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}");
    println!("the demo took {took:?}");
    assert!(took < TOLD_WITHIN, "it took {took:?}");
    let checks: Vec<_> = told.lines().filter(|line| line.contains("VALID")).collect();
    let verdict = |line: &&str| if line.contains("INVALID") { "INVALID" } else { "VALID" };
    let verdicts: Vec<_> = checks.iter().map(verdict).collect();
    // As it is; one byte changed; its tail cut; the same beside a checkpoint.
    assert_eq!(verdicts, ["VALID", "INVALID", "VALID", "INVALID"], "{told}");
    assert!(told.contains("deed_"), "{told}");
}

#[tokio::test]
async fn a_second_up_finds_what_the_first_one_made() {
    if binaries().is_none() {
        return;
    }
    let Some(postgres) = OwnPostgres::new() else { return };
    let folder = std::env::temp_dir().join(name());
    let folder = folder.to_str().unwrap();
    let first = Up::start(&postgres, folder, &[]).await;
    assert!(first.said.contains("executed") && first.said.contains("denied"), "{}", first.said);
    assert!(first.said.contains("VALID") && !first.said.contains("INVALID"), "{}", first.said);
    for way_in in ["/login?invite=org_", "you@demo.localhost", "/app/approvals/apr_"] {
        assert!(first.said.contains(way_in), "{way_in}: {}", first.said);
    }
    let key = first.key().to_owned();
    first.stop().await;
    let began = Instant::now();
    let second = Up::start(&postgres, folder, &[]).await;
    assert!(began.elapsed() < TOLD_WITHIN, "the second one took {:?}", began.elapsed());
    assert_eq!(second.key(), key);
    second.stop().await;
    let anew = Up::start(&postgres, folder, &["--fresh"]).await;
    assert_ne!(anew.key(), key);
    anew.stop().await;
    fs::remove_dir_all(folder).unwrap();
}
