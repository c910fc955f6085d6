//! The examples do what they say: each is run to its end.

use std::{env, process::Command};

#[test]
fn every_example_ends_well_and_as_it_says() {
    // Cargo builds them along with this test, which it puts into a folder beside theirs.
    let test = env::current_exe().unwrap();
    let examples = test.parent().unwrap().with_file_name("examples");
    for (name, last) in [
        ("decide", "pay.close {}: deny (default_denied)"),
        ("replay", "2 of 3 would differ"),
        ("seal", "is valid"),
        ("verify", "one digit changed: invalid"),
        ("gate_in_memory", "deeds is valid"),
    ] {
        let ran = Command::new(examples.join(name)).output();
        let ran = ran.unwrap_or_else(|error| panic!("{name}: {error}; `cargo test` builds it"));
        let said = String::from_utf8(ran.stdout).unwrap();
        assert!(ran.status.success(), "{name}: {}", String::from_utf8_lossy(&ran.stderr));
        assert!(said.lines().last().unwrap().contains(last), "{name}: {said}");
    }
}
