//! Checks that a sealed credential opens in its own place and nowhere else.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use crypto::{
    Secret, SystemEntropy,
    vault::{Ring, VaultError},
};
use ledger::record::{Connector, ConnectorStatus};
use model::{ConnectorId, OrgId, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Credential, Envelope, check, is_under_first_key, open_credential, open_unbound};

fn ring() -> Ring {
    Ring::parse(&Secret::new(STANDARD.encode([7; 32]))).unwrap()
}

fn credential() -> Credential {
    BTreeMap::from([
        ("conn_password".to_owned(), Secret::new("pä$$".to_owned())),
        ("read_password".to_owned(), Secret::new("other".to_owned())),
    ])
}

fn receiver() -> Value {
    json!({ "host": "db", "user": "conn" })
}

fn connector() -> Connector {
    let (org, id) = (OrgId::from_uuid(Uuid::nil()), ConnectorId::from_uuid(Uuid::nil()));
    let entropy = SystemEntropy::new();
    let envelope =
        Envelope { vault: &ring(), entropy: &entropy, org, connector: id, receiver: &receiver() };
    Connector {
        id,
        org,
        name: "shop".parse().unwrap(),
        title: String::new(),
        kind: "postgres".into(),
        test: false,
        status: ConnectorStatus::Enabled,
        config: json!({}),
        credential: envelope.seal(&credential()).unwrap(),
        credential_set: None,
        tools: BTreeMap::new(),
        found: None,
        settings: BTreeMap::new(),
        told: BTreeMap::new(),
        witness: None,
        revision: 1,
        created_at: Timestamp::EPOCH,
        archived_at: None,
    }
}

#[test]
fn a_credential_comes_back_as_it_was() {
    assert_eq!(open_credential(&ring(), &connector(), &receiver()).unwrap(), credential());
}

#[test]
fn a_credential_opens_for_nobody_but_whom_it_was_set_for() {
    let connector = connector();
    for other in [
        json!({ "host": "evil", "user": "conn" }),
        json!({ "host": "db", "user": "other" }),
        json!({ "host": "db" }),
        Value::Null,
    ] {
        let opened = open_credential(&ring(), &connector, &other);
        assert_eq!(opened.err(), Some(VaultError::Refused), "{other}");
    }
    assert_eq!(open_unbound(&ring(), &connector).err(), Some(VaultError::Refused));
}

#[test]
fn a_credential_is_behind_once_another_key_stands_first() {
    let ring = |keys: &[u8]| {
        let keys: Vec<_> = keys.iter().map(|byte| STANDARD.encode([*byte; 32])).collect();
        Ring::parse(&Secret::new(keys.join(","))).unwrap()
    };
    let mut connector = connector();
    assert!(is_under_first_key(&ring(&[7]), &connector));
    assert!(is_under_first_key(&ring(&[7, 8]), &connector));
    assert!(!is_under_first_key(&ring(&[8, 7]), &connector));
    assert_eq!(open_credential(&ring(&[8, 7]), &connector, &receiver()).unwrap(), credential());
    // One field of two counts as well, and what is no ciphertext is under no key.
    connector.credential.insert("read_password".into(), "nonsense".into());
    assert!(!is_under_first_key(&ring(&[7]), &connector));
    connector.credential.clear();
    assert!(is_under_first_key(&ring(&[8]), &connector));
}

#[test]
fn a_ciphertext_that_was_moved_does_not_open() {
    let other = Uuid::from_u128(1);
    let moved: [fn(&mut Connector, Uuid); 3] = [
        |connector, other| connector.org = OrgId::from_uuid(other),
        |connector, other| connector.id = ConnectorId::from_uuid(other),
        |connector, _| {
            let sealed = connector.credential.remove("conn_password").unwrap();
            connector.credential.insert("read_password".to_owned(), sealed);
        },
    ];
    for moved in moved {
        let mut connector = connector();
        moved(&mut connector, other);
        assert_eq!(
            open_credential(&ring(), &connector, &receiver()).err(),
            Some(VaultError::Refused)
        );
    }
}

#[test]
fn a_text_that_is_no_ciphertext_does_not_open() {
    let mut connector = connector();
    connector.credential.insert("conn_password".to_owned(), "plain".to_owned());
    assert_eq!(open_credential(&ring(), &connector, &receiver()).err(), Some(VaultError::Refused));
}

#[test]
fn a_credential_has_few_named_fields_with_values() {
    let one = |name: &str, value: &str| {
        BTreeMap::from([(name.to_owned(), Secret::new(value.to_owned()))])
    };
    assert!(check(&credential()).is_ok());
    assert!(check(&Credential::new()).is_ok());
    for bad in [one("", "x"), one("Pass", "x"), one("pass", ""), one("pass", &"x".repeat(8193))] {
        assert!(check(&bad).is_err());
    }
}
