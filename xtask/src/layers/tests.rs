use super::*;

/// A workspace in `cargo metadata`'s own form: the crates with what each declares, by name and
/// features, and what is built into each package.
fn metadata(crates: &[(&str, &str)], libraries: &[&str], built_in: &[(&str, &str)]) -> Metadata {
    let id = |name: &str| format!("path+file:///w/{name}#0.0.0");
    let mut packages = Vec::new();
    for (name, declared) in crates {
        packages.push(package_json(&id(name), name, &format!("/w/crates/{name}"), declared));
    }
    for name in libraries {
        packages.push(package_json(&id(name), name, &format!("/r/{name}"), ""));
    }
    let names = crates.iter().map(|(name, _)| *name).chain(libraries.iter().copied());
    let nodes: Vec<String> = names
        .map(|name| {
            let uses = built_in.iter().filter(|(from, _)| *from == name).map(|(_, to)| {
                format!(
                    r#"{{"name":"{to}","pkg":"{}","dep_kinds":[{{"kind":null,"target":null}}]}}"#,
                    id(to)
                )
            });
            let deps = uses.collect::<Vec<_>>().join(",");
            format!(r#"{{"id":"{}","deps":[{deps}],"dependencies":[],"features":[]}}"#, id(name))
        })
        .collect();
    let members: Vec<String> =
        crates.iter().map(|(name, _)| format!(r#""{}""#, id(name))).collect();
    let text = format!(
        r#"{{"packages":[{}],"workspace_members":[{}],"resolve":{{"nodes":[{}],"root":null}},
            "workspace_root":"/w","target_directory":"/w/target","version":1,"metadata":null}}"#,
        packages.join(","),
        members.join(","),
        nodes.join(",")
    );
    MetadataCommand::parse(text).unwrap()
}

/// `declared` holds words such as `./model` for a crate of the workspace, `serde` or
/// `tokio:sync+net`.
fn package_json(id: &str, name: &str, folder: &str, declared: &str) -> String {
    let dependencies: Vec<String> = declared
        .split_whitespace()
        .map(|word| {
            let (name, features) = word.split_once(':').unwrap_or((word, ""));
            let features: Vec<String> = features
                .split('+')
                .filter(|feature| !feature.is_empty())
                .map(|feature| format!("{feature:?}"))
                .collect();
            let (name, path) = match name.strip_prefix("./") {
                Some(ours) => (ours, format!(r#","path":"/w/crates/{ours}""#)),
                None => (name, String::new()),
            };
            format!(
                r#"{{"name":"{name}","source":null,"req":"*","kind":null,"optional":false,
                    "uses_default_features":true,"features":[{}],"target":null{path}}}"#,
                features.join(",")
            )
        })
        .collect();
    format!(
        r#"{{"name":"{name}","version":"0.0.0","id":"{id}","source":null,
            "dependencies":[{}],"targets":[],"features":{{}},
            "manifest_path":"{folder}/Cargo.toml","edition":"2024"}}"#,
        dependencies.join(",")
    )
}

/// The violations that concern the crate.
fn found(name: &str, metadata: &Metadata) -> Vec<String> {
    let start = format!("{name}: ");
    let ours = violations(metadata).into_iter().filter(|line| line.starts_with(&start));
    ours.filter(|line| !line.contains("has a row in the table and no crate"))
        .filter(|line| !line.contains("and does not; take it out"))
        .collect()
}

#[test]
fn a_layer_uses_only_what_its_row_names() {
    let metadata = metadata(&[("policy", "./model ./deed")], &[], &[]);
    let layer = "in layer 1 it may use model, crypto";
    assert_eq!(found("policy", &metadata), [format!("policy: uses `deed`; {layer}")]);
}

#[test]
fn a_closed_crate_reaches_the_outside_world_through_nothing() {
    let metadata = metadata(
        &[("policy", "middle"), ("egress", "tokio")],
        &["middle", "tokio"],
        &[("policy", "middle"), ("middle", "tokio"), ("egress", "tokio")],
    );
    let chain = "policy: touches the outside world by policy → middle → tokio";
    assert_eq!(found("policy", &metadata), [chain]);
    assert!(found("egress", &metadata).is_empty());
}

#[test]
fn the_ledger_takes_only_sync_of_tokio() {
    let with = |features: &str| {
        metadata(
            &[("ledger", features)],
            &["tokio", "mio"],
            &[("ledger", "tokio"), ("tokio", "mio")],
        )
    };
    assert!(found("ledger", &with("tokio:sync")).is_empty());
    let sentence = "ledger: takes tokio's `net`; it waits for nothing outside and may take `sync` \
                    alone";
    assert_eq!(found("ledger", &with("tokio:sync+net")), [sentence]);
}

#[test]
fn the_verifier_is_built_from_what_is_listed_and_nothing_more() {
    let with = |library: &str| {
        metadata(
            &[("deed", "./crypto"), ("crypto", "")],
            &["ring", library],
            &[("deed", "crypto"), ("crypto", "ring"), ("ring", library)],
        )
    };
    assert!(found("deed", &with("untrusted")).is_empty());
    let sentence = "deed: is to stay small, and deed → crypto → ring → left-pad is not \
                    listed";
    assert_eq!(found("deed", &with("left-pad")), [sentence]);
}

#[test]
fn a_crate_without_a_row_and_a_row_without_a_crate_are_found() {
    let metadata = metadata(&[("surprise", "")], &[], &[]);
    assert_eq!(
        found("surprise", &metadata),
        ["surprise: has no row in the table of layers; give it one"]
    );
    let missing = "model: has a row in the table and no crate".to_owned();
    assert!(violations(&metadata).contains(&missing));
}

#[test]
fn a_permission_that_is_not_used_is_found() {
    let found = violations(&metadata(&[("policy", "./model")], &[], &[]));
    let sentence = "policy: may use `crypto` and does not; take it out of its row".to_owned();
    assert!(found.contains(&sentence), "{found:?}");
    let found = violations(&metadata(&[("policy", "./model ./crypto")], &[], &[]));
    assert!(!found.iter().any(|line| line.starts_with("policy: ")), "{found:?}");
}

#[test]
fn every_row_comes_after_those_that_it_uses_and_stands_on_no_lower_layer() {
    let floor = |layer: &str| table::LAYERS.iter().position(|(known, _)| *known == layer).unwrap();
    for (place, row) in ROWS.iter().enumerate() {
        for name in row.uses {
            let used = ROWS[..place].iter().find(|row| row.name == *name);
            let used = used.unwrap_or_else(|| panic!("{} uses `{name}` below it", row.name));
            assert!(floor(used.layer) <= floor(row.layer), "{} uses `{name}`", row.name);
            assert!(row.layer != "1" || used.layer == "0", "{} uses `{name}`", row.name);
        }
    }
}

#[test]
fn the_picture_shows_every_crate_with_what_it_uses_in_lines_of_one_width() {
    let picture = drawn();
    let width = picture.lines().next().unwrap().chars().count();
    assert!(picture.lines().all(|line| line.chars().count() == width), "{picture}");
    for row in &ROWS {
        assert_eq!(picture.matches(&format!("│ {} ", row.name)).count(), 1, "{}", row.name);
    }
    assert_eq!(picture.matches(" egress ").count(), 5, "its own line and four users");
}
