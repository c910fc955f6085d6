//! Checks that a sealed credential opens in its own place and nowhere else.

use std::collections::BTreeMap;

use crypto::{
    Secret, SystemEntropy,
    vault::{Ring, VaultError},
};
use ledger::record::{Connector, ConnectorStatus};
use model::{ConnectorId, OrgId, Timestamp};
use serde_json::json;
use uuid::Uuid;

use super::{Credential, Envelope, check, open_credential};

fn ring() -> Ring {
    let key = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, [7; 32]);
    Ring::parse(&Secret::new(key)).unwrap()
}

fn credential() -> Credential {
    BTreeMap::from([
        ("conn_password".to_owned(), Secret::new("pä$$".to_owned())),
        ("read_password".to_owned(), Secret::new("other".to_owned())),
    ])
}

fn connector() -> Connector {
    let (org, id) = (OrgId::from_uuid(Uuid::nil()), ConnectorId::from_uuid(Uuid::nil()));
    let entropy = SystemEntropy::new();
    let envelope = Envelope { vault: &ring(), entropy: &entropy, org, connector: id };
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
        revision: 1,
        created_at: Timestamp::EPOCH,
        archived_at: None,
    }
}

#[test]
fn a_credential_comes_back_as_it_was() {
    assert_eq!(open_credential(&ring(), &connector()).unwrap(), credential());
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
        assert_eq!(open_credential(&ring(), &connector).err(), Some(VaultError::Refused));
    }
}

#[test]
fn a_text_that_is_no_ciphertext_does_not_open() {
    let mut connector = connector();
    connector.credential.insert("conn_password".to_owned(), "plain".to_owned());
    assert_eq!(open_credential(&ring(), &connector).err(), Some(VaultError::Refused));
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
