//! Making, changing and switching connectors.

use act::ActError;
use admin::{
    AccountStore, ChangeError, ConnectorEdit, ConnectorError, Credential, Gaps, Looked, LookedAt,
    NewConnector, ToolEdit, ToolStanding, ToolState, UnfitError, Wish, open_credential,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use crypto::Secret;
use ledger::record::ConnectorStatus;
use model::{Level, LogGap, SideEffect, ToolName};
use serde_json::{Value, json};

use crate::world::World;

fn shop() -> NewConnector {
    NewConnector::of("postgres", "shop", json!({ "host": "db.internal" }))
}

/// A new config whose tools are accepted as they come.
fn pinning(config: Value) -> ConnectorEdit {
    ConnectorEdit { config: Some(config), pin_tools: true, ..ConnectorEdit::default() }
}

fn password(text: &str) -> Credential {
    [("conn_password".to_owned(), Secret::new(text.to_owned()))].into()
}

#[tokio::test]
async fn a_connector_is_made_enabled_with_its_credential_sealed() {
    let world = World::new();
    let created = world.org().await;
    let new = NewConnector { credential: password("right"), ..shop() };
    let made = world.operator(&created).create_connector(new).await.unwrap().object;
    assert_eq!((made.status, made.revision), (ConnectorStatus::Enabled, 1));
    assert!(!format!("{made:?}").contains("right"));
    let stored = world.store.connector(created.org.id, made.id).await.unwrap().unwrap();
    assert_eq!(
        open_credential(&world.vault, &stored, &json!("db.internal")).unwrap(),
        password("right")
    );
    let body = world.last_body(&created);
    assert_eq!(body["admin"]["event"], "connector.created");
    assert_eq!(body["admin"]["data"]["type"], "postgres");
    assert!(!body.to_string().contains(&stored.credential["conn_password"]));
}

#[tokio::test]
async fn reserved_taken_and_malformed_names_are_refused() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    for name in ["service", "mcp", "native", "fake", "console", "", "S", "a.b", "shop!"] {
        let refused = operator.create_connector(NewConnector { name: name.into(), ..shop() }).await;
        let bad = matches!(
            refused,
            Err(ConnectorError::Change(ChangeError::Act(ActError::BadInput { param: "name", .. })))
        );
        assert!(bad, "{name}");
    }
    let (one, two) =
        tokio::join!(operator.create_connector(shop()), operator.create_connector(shop()));
    assert!(one.is_ok() != two.is_ok());
    let again = operator.create_connector(shop()).await;
    assert!(matches!(again, Err(ConnectorError::Change(ChangeError::NameTaken(_)))));
}

#[tokio::test]
async fn what_the_adapter_refuses_is_not_made() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let unknown = NewConnector { kind: "oracle".to_owned(), ..shop() };
    let hostless = NewConnector { config: json!({}), ..shop() };
    let no_word = NewConnector { kind: "Post gres".to_owned(), ..shop() };
    let wrong = NewConnector { credential: password("wrong"), ..shop() };
    let unfit = async |new| match operator.create_connector(new).await {
        Err(ConnectorError::Unfit(unfit)) => unfit,
        other => panic!("{other:?}"),
    };
    assert!(matches!(unfit(unknown).await, UnfitError::UnknownKind(kind) if kind == "oracle"));
    assert!(matches!(unfit(no_word).await, UnfitError::UnknownKind(_)));
    assert!(matches!(unfit(hostless).await, UnfitError::Config(findings) if findings.len() == 1));
    assert!(matches!(unfit(wrong).await, UnfitError::Unreachable(_)));
    let tried = ["connector.change_refused", "connector.change_refused"];
    assert_eq!(world.sealed(created.org.id)[6..], tried);
}

#[tokio::test]
async fn a_credential_is_replaced_as_a_whole_and_makes_a_new_revision() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let made = operator.create_connector(shop()).await.unwrap().object;
    let set = operator.set_credential(made.id, (None, password("right"))).await.unwrap().object;
    assert_eq!(set.revision, 2);
    assert_eq!(
        open_credential(&world.vault, &set, &json!("db.internal")).unwrap(),
        password("right")
    );
    assert_eq!(world.last_body(&created)["admin"]["event"], "connector.credential_set");
    let refused = operator.set_credential(made.id, (None, password("wrong"))).await;
    assert!(matches!(refused, Err(ConnectorError::Unfit(UnfitError::Unreachable(_)))));
    let stored = world.store.connector(created.org.id, made.id).await.unwrap();
    assert_eq!(stored, Some(set));
}

#[tokio::test]
async fn a_new_config_is_checked_and_makes_a_new_revision() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let made = operator.create_connector(shop()).await.unwrap().object;
    let config = json!({ "host": "db2.internal" });
    let updated = operator.update_connector(made.id, pinning(config.clone())).await.unwrap().object;
    assert_eq!((updated.revision, updated.config), (2, config));
    let refused = operator.update_connector(made.id, pinning(json!({}))).await;
    assert!(matches!(refused, Err(ConnectorError::Unfit(UnfitError::Config(_)))));
}

#[tokio::test]
async fn of_two_changes_that_were_checked_together_one_is_a_conflict() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let made = operator.create_connector(shop()).await.unwrap().object;
    let (one, two) = tokio::join!(
        operator.update_connector(made.id, pinning(json!({ "host": "one" }))),
        operator.update_connector(made.id, pinning(json!({ "host": "two" }))),
    );
    assert!(one.is_ok() != two.is_ok());
    let lost = one.err().or(two.err()).unwrap();
    assert!(
        matches!(lost, ConnectorError::Change(ChangeError::Act(ActError::Conflict(_)))),
        "{lost:?}"
    );
}

#[tokio::test]
async fn a_connector_is_disabled_and_enabled_with_a_reason() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let made = operator.create_connector(shop()).await.unwrap().object;
    let disabled = operator.disable_connector(made.id, "maintenance").await.unwrap().object;
    assert_eq!((disabled.status, disabled.revision), (ConnectorStatus::Disabled, 1));
    let again = operator.disable_connector(made.id, "maintenance").await;
    assert!(matches!(again, Err(ConnectorError::Change(ChangeError::Act(ActError::Conflict(_))))));
    let enabled = operator.enable_connector(made.id, "done").await.unwrap().object;
    assert_eq!(enabled, made);
    let sealed = world.sealed(created.org.id);
    assert_eq!(sealed[6..], ["connector.created", "connector.disabled", "connector.enabled"]);
}

#[tokio::test]
async fn another_orgs_connector_is_not_there() {
    let world = World::new();
    let (ours, theirs) = (world.org().await, world.org().await);
    let made = world.operator(&theirs).create_connector(shop()).await.unwrap().object;
    let operator = world.operator(&ours);
    for refused in [
        operator.set_credential(made.id, (None, password("right"))).await,
        operator.update_connector(made.id, pinning(json!({ "host": "x" }))).await,
        operator.disable_connector(made.id, "why").await,
    ] {
        assert!(matches!(
            refused,
            Err(ConnectorError::Change(ChangeError::Act(ActError::NotFound(_))))
        ));
    }
}

#[tokio::test]
async fn tools_are_accepted_by_who_changes_or_enables_a_connector_and_not_by_a_credential() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let config = json!({ "host": "db.internal", "tools": { "shop.read": 1 } });
    let made = operator.create_connector(NewConnector { config, ..shop() }).await.unwrap().object;
    assert!(made.tools.is_empty(), "nobody could be asked");
    let set = operator.set_credential(made.id, (None, password("right"))).await.unwrap().object;
    assert_eq!(serde_json::to_value(&set.tools).unwrap(), json!({ "shop.read": 1 }));
    let body = world.last_body(&created);
    assert_eq!(body["admin"]["event"], "connector.credential_set");
    let config = json!({ "host": "db.internal", "tools": { "shop.read": 2 } });
    let updated = operator.update_connector(made.id, pinning(config)).await.unwrap().object;
    assert_eq!(serde_json::to_value(&updated.tools).unwrap(), json!({ "shop.read": 2 }));
    operator.disable_connector(made.id, "maintenance").await.unwrap();
    let enabled = operator.enable_connector(made.id, "done").await.unwrap().object;
    assert_eq!((enabled.revision, &enabled.tools), (updated.revision, &updated.tools));
}

#[tokio::test]
async fn what_an_older_version_did_not_note_of_tools_is_noted_once_and_without_a_deed() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let made = operator.create_connector(shop()).await.unwrap().object;
    let deeds = world.sealed(created.org.id).len();
    let known = |number: u32| -> admin::KnownTools {
        serde_json::from_value(json!({ "shop.read": number })).unwrap()
    };
    for (revision, number) in [(2, 7), (1, 8), (1, 9)] {
        operator.learn_tools((made.id, revision), known(number)).await.unwrap();
    }
    let stored = world.store.connector(created.org.id, made.id).await.unwrap().unwrap();
    assert_eq!((stored.tools, stored.revision), (known(8), 1));
    assert_eq!(world.sealed(created.org.id).len(), deeds);
}

#[tokio::test]
async fn an_archived_connector_is_disabled_for_good_and_keeps_no_secret() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let new = NewConnector { credential: password("right"), ..shop() };
    let made = operator.create_connector(new).await.unwrap().object;
    let archived = operator.archive_connector(made.id, "replaced").await.unwrap().object;
    assert_eq!(world.last_body(&created)["admin"]["event"], "connector.archived");
    assert_eq!((archived.status, archived.revision), (ConnectorStatus::Disabled, 2));
    assert!(archived.credential.is_empty() && archived.archived_at.is_some());
    let again = [
        operator.archive_connector(made.id, "again").await,
        operator.enable_connector(made.id, "back").await,
        operator.set_credential(made.id, (None, password("right"))).await,
        operator.update_connector(made.id, pinning(json!({ "host": "db" }))).await,
    ];
    for refused in again {
        let conflict = ChangeError::Act(ActError::Conflict("the connector is archived"));
        assert_eq!(refused.unwrap_err().to_string(), conflict.to_string());
    }
    let taken = operator.create_connector(shop()).await;
    assert!(matches!(taken, Err(ConnectorError::Change(ChangeError::NameTaken(_)))));
}

#[tokio::test]
async fn while_its_log_is_read_a_connector_is_neither_archived_nor_led_elsewhere() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let config = json!({ "host": "db.internal", "database": "shop", "log": true });
    let new = NewConnector { config: config.clone(), credential: password("right"), ..shop() };
    let made = operator.create_connector(new).await.unwrap().object;
    operator.enable_witness(made.id, (&[], Gaps::Refused), "to be proved").await.unwrap();
    let with = |name: &str, value: &str| {
        let mut config = config.clone();
        config[name] = json!(value);
        ConnectorEdit { credential: password("right"), ..pinning(config) }
    };
    // Each would leave a slot behind that nobody could remove any more.
    let refused = [
        operator.archive_connector(made.id, "replaced").await,
        operator.update_connector(made.id, with("host", "other.internal")).await,
        operator.update_connector(made.id, with("database", "other")).await,
    ];
    for refused in refused {
        let refused = refused.unwrap_err();
        assert!(refused.to_string().contains("disable its witness first"), "{refused}");
    }
    operator.update_connector(made.id, with("application", "shop")).await.unwrap();
    operator.disable_witness(made.id, "proved enough").await.unwrap();
    let of = (created.org.id, made.id);
    // Whoever was about to read it may have made a slot, though nothing is known of one.
    world.hold_log(of).await;
    let refused = [
        operator.archive_connector(made.id, "replaced").await,
        operator.update_connector(made.id, with("database", "other")).await,
    ];
    for refused in refused {
        let refused = refused.unwrap_err();
        assert!(refused.to_string().contains("is being removed"), "{refused}");
    }
    world.follow_log(of, Some(LogGap::DecoderOff)).await;
    let archived = operator.archive_connector(made.id, "replaced").await.unwrap().object;
    assert!(archived.archived_at.is_some());
}

/// Tools as a database would give them, each with the digest of a number.
fn tools(given: &[(&str, u8)]) -> Value {
    let known = |(name, number): &(&str, u8)| {
        let digest = crypto::sha256([*number]);
        let entry = json!({ "side_effect": "write", "required_level": "L1", "number": number });
        ((*name).to_owned(), json!({ "digest": digest, "entry": entry }))
    };
    Value::Object(given.iter().map(known).collect())
}

fn standings(connector: &ledger::record::Connector) -> Vec<(String, ToolState)> {
    let standing = |it: ToolStanding<'_>| (it.name.to_string(), it.state);
    ToolStanding::of(connector).into_iter().map(standing).collect()
}

#[tokio::test]
async fn what_changes_later_waits_beside_what_was_accepted_until_it_is_pinned() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let config = |given: &[(&str, u8)]| json!({ "host": "db", "tools": tools(given) });
    let new = NewConnector {
        config: config(&[("shop.read", 1), ("shop.old", 2)]),
        credential: password("right"),
        ..shop()
    };
    let made = operator.create_connector(new).await.unwrap().object;
    let pinned = |name: &str| (name.to_owned(), ToolState::Pinned);
    assert_eq!(standings(&made), [pinned("shop.old"), pinned("shop.read")]);

    let other = config(&[("shop.read", 9), ("shop.new", 3)]);
    let edit = ConnectorEdit { config: Some(other), ..ConnectorEdit::default() };
    let updated = operator.update_connector(made.id, edit).await.unwrap().object;
    let is = |name: &str, state| (name.to_owned(), state);
    let expected = [
        is("shop.new", ToolState::New),
        is("shop.old", ToolState::Gone),
        is("shop.read", ToolState::Changed),
    ];
    assert_eq!(standings(&updated), expected);
    assert_eq!(updated.tools, made.tools, "what runs is what was accepted");

    let read: ToolName = "shop.read".parse().unwrap();
    let wrong = operator.pin_tool(made.id, (read.clone(), crypto::sha256([1]))).await;
    assert!(wrong.unwrap_err().to_string().contains("digest"));
    let unknown = ("shop.none".parse().unwrap(), crypto::sha256([1]));
    let unknown = operator.pin_tool(made.id, unknown).await;
    assert!(unknown.is_err());
    let pin = operator.pin_tool(made.id, (read.clone(), crypto::sha256([9]))).await.unwrap().object;
    assert_eq!(standings(&pin)[2], pinned("shop.read"));
    assert_eq!(pin.revision, updated.revision + 1);
    let body = world.last_body(&created);
    assert_eq!(body["admin"]["event"], "tool.pinned");
    assert_eq!(body["admin"]["data"]["tool"], "shop.read");
    let again = operator.pin_tool(made.id, (read, crypto::sha256([9]))).await;
    assert!(matches!(again, Err(ConnectorError::Change(ChangeError::Act(ActError::Conflict(_))))));

    let refreshed = operator.refresh_tools(made.id).await.unwrap();
    assert_eq!(refreshed, pin, "nothing else was found");
    let new = ("shop.new".parse().unwrap(), crypto::sha256([3]));
    let whole = operator.pin_tool(made.id, new).await.unwrap().object;
    assert_eq!(standings(&whole)[1], is("shop.old", ToolState::Gone));
    operator.disable_connector(made.id, "maintenance").await.unwrap();
    let enabled = operator.enable_connector(made.id, "done").await.unwrap().object;
    assert_eq!(standings(&enabled), [pinned("shop.new"), pinned("shop.read")]);
}

#[tokio::test]
async fn a_tool_is_made_stricter_than_its_definition_and_never_laxer() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let config = json!({ "host": "db", "tools": tools(&[("shop.write", 1)]) });
    let new = NewConnector { config, credential: password("right"), ..shop() };
    let made = operator.create_connector(new).await.unwrap().object;
    let name: ToolName = "shop.write".parse().unwrap();
    let edit = ToolEdit {
        side_effect: Wish::Becomes(SideEffect::Destructive),
        required_level: Wish::Becomes(Level::L2),
        hidden: Some(true),
    };
    let edited = operator.update_tool(made.id, (name.clone(), edit)).await.unwrap().object;
    let settings = edited.settings[&name];
    assert_eq!(settings.side_effect, Some(SideEffect::Destructive));
    assert_eq!((settings.required_level, settings.hidden), (Some(Level::L2), true));
    assert_eq!(world.last_body(&created)["admin"]["event"], "tool.updated");
    let laxer = [
        ToolEdit { side_effect: Wish::Becomes(SideEffect::Read), ..ToolEdit::default() },
        ToolEdit { required_level: Wish::Becomes(Level::L0), ..ToolEdit::default() },
    ];
    for edit in laxer {
        let refused = operator.update_tool(made.id, (name.clone(), edit)).await;
        assert!(
            refused.unwrap_err().to_string().contains("or higher, because the tool's definition")
        );
    }
    let back =
        ToolEdit { side_effect: Wish::Goes, required_level: Wish::Goes, hidden: Some(false) };
    let back = operator.update_tool(made.id, (name, back)).await.unwrap().object;
    assert!(back.settings.is_empty());
}

#[tokio::test]
async fn a_credential_is_removed_and_told_of_without_its_values() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let made = operator.create_connector(shop()).await.unwrap().object;
    assert_eq!((&made.credential_set, admin::credential_key_id(&made)), (&None, None));
    let set = operator.set_credential(made.id, (None, password("right"))).await.unwrap().object;
    let told = set.credential_set.clone().unwrap();
    assert_eq!((told.hint, told.at), (None, testkit::START), "a short value has no hint");
    assert_eq!(admin::credential_key_id(&set).unwrap().len(), 16);
    let removed = operator.remove_credential(made.id).await.unwrap().object;
    assert!(removed.credential.is_empty() && removed.credential_set.is_none());
    assert_eq!(world.last_body(&created)["admin"]["event"], "connector.credential_removed");
    let again = operator.remove_credential(made.id).await;
    assert!(matches!(again, Err(ConnectorError::Change(ChangeError::Act(ActError::Conflict(_))))));
}

#[tokio::test]
async fn a_credential_does_not_go_along_to_another_host() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let config = |host: &str| json!({ "host": host, "tools": tools(&[("shop.read", 1)]) });
    let new = NewConnector { config: config("db"), credential: password("right"), ..shop() };
    let made = operator.create_connector(new).await.unwrap().object;
    let titled = ConnectorEdit { title: Some("Shop".to_owned()), ..ConnectorEdit::default() };
    let kept = operator.update_connector(made.id, titled).await.unwrap().object;
    assert_eq!(kept.credential, made.credential);
    let mut same = config("db");
    same["note"] = json!("at the same host");
    let edit = ConnectorEdit { config: Some(same), ..ConnectorEdit::default() };
    let kept = operator.update_connector(made.id, edit).await.unwrap().object;
    assert_eq!((&kept.credential, &kept.tools), (&made.credential, &made.tools));

    let edit = ConnectorEdit { config: Some(config("elsewhere")), ..ConnectorEdit::default() };
    let refused = operator.update_connector(made.id, edit.clone()).await.unwrap_err();
    assert!(lacks_credential(&refused), "{refused}");
    let stored = world.store.connector(created.org.id, made.id).await.unwrap().unwrap();
    assert_eq!(stored, kept, "nothing is half done");

    let edit = ConnectorEdit { credential: password("right"), ..edit };
    let moved = operator.update_connector(made.id, edit).await.unwrap().object;
    let of = |host: &str| open_credential(&world.vault, &moved, &json!(host)).ok();
    assert_eq!((of("elsewhere"), of("db")), (Some(password("right")), None));
    let body = world.last_body(&created);
    assert_eq!(body["admin"]["event"], "connector.updated");
    assert_eq!(body["admin"]["data"]["credential_fields"], 1);
}

fn lacks_credential(error: &ConnectorError) -> bool {
    let ConnectorError::Change(ChangeError::Act(error)) = error else { return false };
    matches!(error, ActError::BadInput { param: "credential", .. })
}

#[tokio::test]
async fn a_connector_that_has_no_credential_goes_anywhere_and_a_credential_alone_is_no_edit() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let made = operator.create_connector(shop()).await.unwrap().object;
    let config = json!({ "host": "elsewhere" });
    let moved = operator.update_connector(made.id, pinning(config.clone())).await.unwrap().object;
    assert_eq!((moved.config, moved.credential.len()), (config, 0));
    let alone = ConnectorEdit { credential: password("right"), ..ConnectorEdit::default() };
    let refused = operator.update_connector(made.id, alone).await.unwrap_err();
    assert!(lacks_credential(&refused), "{refused}");
}

#[tokio::test]
async fn a_refused_change_is_a_deed_that_tells_who_tried_which_place() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let new = NewConnector { credential: password("right"), ..shop() };
    let made = operator.create_connector(new.clone()).await.unwrap().object;
    let revision = world.store.connector(created.org.id, made.id).await.unwrap().unwrap().revision;
    let at = |host: &str| ConnectorEdit {
        config: Some(json!({ "host": host })),
        ..ConnectorEdit::default()
    };
    let wrong = password("wrong");
    let refused = async |what| {
        let body = world.last_body(&created);
        let admin = &body["admin"];
        assert_eq!(admin["event"], "connector.change_refused", "{what}");
        assert!(body["actor"].to_string().contains("operator"), "{}", body["actor"]);
        let detail = world.last_opened(created.org.id).await;
        (admin["data"]["code"].clone(), detail)
    };
    operator.update_connector(made.id, at("evil")).await.unwrap_err();
    let (code, told) = refused("a move without the credential").await;
    assert_eq!(code, "credential_unfit");
    assert_eq!(told["admin.before"], json!({ "target": { "host": "db.internal" } }));
    assert_eq!(told["admin.after"]["target"], json!({ "host": "evil" }));
    let edit = ConnectorEdit { credential: wrong.clone(), ..at("evil") };
    operator.update_connector(made.id, edit).await.unwrap_err();
    let (code, told) = refused("a move that the system refuses").await;
    assert_eq!(code, "connector_unreachable");
    assert!(told["admin.after"]["error"].as_str().unwrap().contains("refused"));
    operator.set_credential(made.id, (None, wrong.clone())).await.unwrap_err();
    let (code, told) = refused("a credential that the system refuses").await;
    assert_eq!(
        (code, &told["admin.after"]["target"]["host"]),
        (json!("connector_unreachable"), &json!("db.internal"))
    );
    let new = NewConnector { name: "other".to_owned(), credential: wrong, ..new };
    operator.create_connector(new).await.unwrap_err();
    let (code, told) = refused("a connector that is not made").await;
    assert_eq!((code, told.get("admin.before")), (json!("connector_unreachable"), None));
    let stored = world.store.connector(created.org.id, made.id).await.unwrap().unwrap();
    assert_eq!(stored.revision, revision);
    assert!(!world.last_body(&created).to_string().contains("wrong"));
    // What is refused before any place counts leaves no deed.
    let deeds = world.sealed(created.org.id).len();
    let unknown = NewConnector { kind: "oracle".to_owned(), ..shop() };
    operator.create_connector(unknown).await.unwrap_err();
    operator.create_connector(NewConnector { name: "S".to_owned(), ..shop() }).await.unwrap_err();
    assert_eq!(world.sealed(created.org.id).len(), deeds);
}

#[tokio::test]
async fn what_an_older_version_bound_to_no_place_is_bound_once_to_the_one_it_has() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let config = json!({ "host": "db.internal", "tools": tools(&[("shop.read", 1)]) });
    let new = NewConnector { config, credential: password("right"), ..shop() };
    let made = operator.create_connector(new).await.unwrap().object;
    assert_eq!(operator.bind_connector(made.clone()).await.unwrap(), None, "it is bound already");
    // As versions sealed it that knew of no receiver.
    let context = format!("service.credential.v1/{}/{}/conn_password", made.org, made.id);
    let sealed = world.vault.seal(context.as_bytes(), b"right", &*world.dice).unwrap();
    let sealed = [("conn_password".to_owned(), STANDARD.encode(sealed))].into();
    let older = ledger::record::Connector { credential: sealed, ..made.clone() };
    world.write(created.org.id, older.clone()).await;
    let test = operator.test_connector(made.id).await.unwrap();
    let check = &test.checks[..];
    assert!(
        matches!(check, [Looked { found: LookedAt::Fail, name, .. }] if name == "credential"),
        "it is used for nothing until then: {check:?}"
    );
    let bound = operator.bind_connector(older.clone()).await.unwrap().unwrap().object;
    assert_eq!(bound.revision, older.revision, "runs under way are settled by it");
    let of = |host: &str| open_credential(&world.vault, &bound, &json!(host)).ok();
    assert_eq!((of("db.internal"), of("elsewhere")), (Some(password("right")), None));
    assert_eq!(world.last_body(&created)["admin"]["event"], "connector.updated");
    assert_eq!(operator.bind_connector(bound.clone()).await.unwrap(), None);
    let stale = operator.bind_connector(older).await.unwrap_err();
    assert!(matches!(stale, ConnectorError::Change(ChangeError::Act(ActError::Conflict(_)))));
    // One that was moved in the record opens for nobody, and is bound to nothing.
    let moved = ledger::record::Connector {
        config: json!({ "host": "evil" }),
        revision: bound.revision + 1,
        ..bound
    };
    world.write(created.org.id, moved.clone()).await;
    let refused = operator.bind_connector(moved).await.unwrap_err();
    assert!(matches!(refused, ConnectorError::Vault(_)), "{refused}");
}
