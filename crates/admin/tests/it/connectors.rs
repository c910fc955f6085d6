//! Making, changing and switching connectors.

use act::ActError;
use admin::{
    AccountStore, ChangeError, ConnectorError, Credential, NewConnector, UnfitError,
    open_credential,
};
use crypto::Secret;
use ledger::record::ConnectorStatus;
use serde_json::json;

use crate::world::World;

fn shop() -> NewConnector {
    NewConnector {
        name: "shop".to_owned(),
        kind: "postgres".to_owned(),
        config: json!({ "host": "db.internal" }),
        credential: Credential::new(),
        test: false,
    }
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
    assert_eq!(open_credential(&world.vault, &stored).unwrap(), password("right"));
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
    assert_eq!(world.sealed(created.org.id).len(), 6);
}

#[tokio::test]
async fn a_credential_is_replaced_as_a_whole_and_makes_a_new_revision() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let made = operator.create_connector(shop()).await.unwrap().object;
    let set = operator.set_credential(made.id, password("right")).await.unwrap().object;
    assert_eq!(set.revision, 2);
    assert_eq!(open_credential(&world.vault, &set).unwrap(), password("right"));
    assert_eq!(world.last_body(&created)["admin"]["event"], "connector.credential_set");
    let refused = operator.set_credential(made.id, password("wrong")).await;
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
    let updated = operator.update_connector(made.id, config.clone()).await.unwrap().object;
    assert_eq!((updated.revision, updated.config), (2, config));
    let refused = operator.update_connector(made.id, json!({})).await;
    assert!(matches!(refused, Err(ConnectorError::Unfit(UnfitError::Config(_)))));
}

#[tokio::test]
async fn of_two_changes_that_were_checked_together_one_is_a_conflict() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let made = operator.create_connector(shop()).await.unwrap().object;
    let (one, two) = tokio::join!(
        operator.update_connector(made.id, json!({ "host": "one" })),
        operator.update_connector(made.id, json!({ "host": "two" })),
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
        operator.set_credential(made.id, password("right")).await,
        operator.update_connector(made.id, json!({ "host": "x" })).await,
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
    let set = operator.set_credential(made.id, password("right")).await.unwrap().object;
    assert_eq!(serde_json::to_value(&set.tools).unwrap(), json!({ "shop.read": 1 }));
    let body = world.last_body(&created);
    assert_eq!(body["admin"]["event"], "connector.credential_set");
    let config = json!({ "host": "db.internal", "tools": { "shop.read": 2 } });
    let updated = operator.update_connector(made.id, config).await.unwrap().object;
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
        operator.set_credential(made.id, password("right")).await,
        operator.update_connector(made.id, json!({ "host": "db" })).await,
    ];
    for refused in again {
        let conflict = ChangeError::Act(ActError::Conflict("the connector is archived"));
        assert_eq!(refused.unwrap_err().to_string(), conflict.to_string());
    }
    let taken = operator.create_connector(shop()).await;
    assert!(matches!(taken, Err(ConnectorError::Change(ChangeError::NameTaken(_)))));
}
