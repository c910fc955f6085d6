use std::collections::BTreeSet;

use cargo_metadata::MetadataCommand;

use super::*;

/// What somebody who is handed the service can do with the bill: look every crate up by name and
/// version, compare its digest, and see what it is there for.
#[test]
fn the_bill_names_what_is_linked_with_digests_and_nothing_else() {
    let metadata = MetadataCommand::new().exec().unwrap();
    let root = metadata.workspace_root.clone().into_std_path_buf();
    let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap();
    let bill: serde_json::Value = bill::of(&metadata, &lock, "server").unwrap().parse().unwrap();
    let parts = bill["components"].as_array().unwrap();
    let name = |part: &serde_json::Value| part["name"].as_str().unwrap().to_owned();
    let names: BTreeSet<_> = parts.iter().map(name).collect();
    for linked in ["ring", "tokio", "deed", "store-postgres", "rustls"] {
        assert!(names.contains(linked), "no {linked}");
    }
    for other in ["proptest", "testkit", "cargo_metadata", "cc", "server"] {
        assert!(!names.contains(other), "{other} is not in the service");
    }
    for part in parts {
        assert!(!part["licenses"].as_array().unwrap().is_empty(), "{part}");
        let foreign = !part["purl"].as_str().unwrap().ends_with("local");
        let digest = part["hashes"][0]["content"].as_str().map(str::len);
        assert_eq!(digest, foreign.then_some(64), "{part}");
    }
    let known: BTreeSet<_> = parts.iter().map(|part| part["bom-ref"].to_string()).collect();
    for row in bill["dependencies"].as_array().unwrap() {
        for on in row["dependsOn"].as_array().unwrap() {
            assert!(known.contains(&on.to_string()), "{on} is nowhere");
        }
    }
}

#[test]
fn the_sums_are_of_every_file_and_a_changed_one_does_not_check() {
    let folder = std::env::temp_dir().join(format!("chancery-dist-{}", std::process::id()));
    fs::create_dir_all(folder.join("completions")).unwrap();
    for name in ["chancery", "completions/chancery.bash"] {
        fs::write(folder.join(name), name).unwrap();
    }
    sums(&folder).unwrap();
    let checks = || {
        let mut command = Command::new("sha256sum");
        let command = command.args(["--check", "--strict", "SHA256SUMS"]).current_dir(&folder);
        process::capture(command).unwrap()
    };
    let output = checks();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 2);
    fs::write(folder.join("chancery"), "another").unwrap();
    assert!(!checks().status.success());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_binary_is_handed_out_without_its_debug_information_and_finds_it_beside_itself() {
    let folder = std::env::temp_dir().join(format!("chancery-split-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let this = std::env::current_exe().unwrap();
    let binary = split(&this, &folder).unwrap();
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    // How much that is depends on the profile; the symbols are there in any.
    let debug = folder.join("chancery.debug");
    assert!(size(&binary) < size(&this), "{} of {}", size(&binary), size(&this));
    let has_symbols = |path: &Path| {
        let listed = process::capture(Command::new("readelf").arg("-SW").arg(path)).unwrap();
        String::from_utf8(listed.stdout).unwrap().contains(".symtab")
    };
    assert!(has_symbols(&this) && has_symbols(&debug) && !has_symbols(&binary));
    let text = fs::read(&binary).unwrap();
    assert!(text.windows(14).any(|part| part == b"chancery.debug"), "it names the other file");
    let listed = process::capture(Command::new(&binary).arg("--list")).unwrap();
    assert!(listed.status.success(), "it runs");
    fs::remove_dir_all(&folder).unwrap();
}
