//! The one spelling of a body: written fast, and the same as the general way to RFC 8785.

use model::Mint;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{Counting, moment, public_keys};
use crate::{AdminContent, Amended, Body, Content, Subject, canonical, specimen};

fn profile_value() -> impl Strategy<Value = Value> {
    let limit = crypto::json::MAX_INTEGER;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-limit..=limit).prop_map(Value::from),
        "[^\u{0}]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-z0-9_]{1,8}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_straight_from_the_types_is_the_canonical_form(value in profile_value()) {
        let written = canonical::write(&value).unwrap();
        prop_assert_eq!(written.as_bytes(), crypto::json::canonical_generally(&value));
        prop_assert_eq!(crypto::json::parse(written.as_bytes()).unwrap(), value);
    }

    #[test]
    fn random_deeds_are_written_as_the_canonicalizer_writes_them(
        start in any::<u64>(),
        seq in 0..=crypto::json::MAX_INTEGER.unsigned_abs(),
        data in prop::collection::btree_map("[a-z0-9_]{1,8}", profile_value(), 0..4),
        kind in 0..3,
    ) {
        let entropy = Counting::from(start);
        let mint = Mint::new(moment(), &entropy);
        let amends = Amended { id: mint.id(model::DeedId::from_uuid), digest: crypto::sha256("x"), seq };
        let (draft, _) = match kind {
            0 => specimen::action(&mint).unwrap(),
            1 => specimen::amendment(&mint, amends, Subject::org(specimen::org(&mint))).unwrap(),
            _ => specimen::admin(&mint),
        };
        let content = match draft.content {
            Content::Admin(admin) => {
                Content::Admin(AdminContent { data: data.into_iter().collect(), ..admin })
            }
            other => other,
        };
        let body = Body {
            format: crate::Format::V1,
            id: draft.id,
            kind: content.kind(),
            org: specimen::org(&mint),
            livemode: seq % 2 == 0,
            log: specimen::log(&mint).unwrap(),
            seq,
            prev: crypto::sha256(start.to_be_bytes()),
            issued_at: mint.now(),
            key_id: crate::thumbprint(&public_keys()[0].public),
            actor: draft.actor,
            subject: draft.subject,
            content,
        };
        let general = crypto::json::canonical_generally(&serde_json::to_value(&body).unwrap());
        match body.write() {
            Ok(written) => {
                prop_assert_eq!(written.as_bytes(), general);
                prop_assert_eq!(Body::read(written.as_bytes()).unwrap(), body);
            }
            Err(fault) => prop_assert!(fault.to_string().contains("nested too deep"), "{}", fault),
        }
    }
}

#[test]
fn what_is_outside_the_profile_is_not_written() {
    let deep = (0..9).fold(json!(1), |inner, _| json!([inner]));
    for (value, why) in [
        (json!(1.5), "no integer"),
        (json!(9_007_199_254_740_992_i64), "no integer"),
        (json!({ "Key": 1 }), "other characters"),
        (json!({ "": 1 }), "other characters"),
        (json!({ "a\"b": 1 }), "other characters"),
        (json!("a\u{0}b"), "NUL"),
        (deep, "too deep"),
    ] {
        let fault = canonical::write(&value).unwrap_err().to_string();
        assert!(fault.contains(why), "{value}: {fault}");
    }
    let twice = canonical::write(&Twice { one: 1, other: 2 }).unwrap_err().to_string();
    assert!(twice.contains("appears twice or is out of order"), "{twice}");
    let keyed: std::collections::BTreeMap<u8, u8> = [(1, 2)].into();
    assert!(canonical::write(&keyed).is_err(), "a number is no name");
}

#[derive(serde::Serialize)]
struct Twice {
    one: u8,
    #[serde(rename = "one")]
    other: u8,
}
