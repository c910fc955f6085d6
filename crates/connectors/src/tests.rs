use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use crypto::sha256;
use model::{ActionId, OrgId, Outcome, State, Status, Timestamp};
use serde_json::{Value, json};
use tool::{Run, Settled};

use crate::{
    ActionStatus, ArgsSchema, BuiltinSource, Caller, KINDS, SHOP_CONNECTOR, SourceUnavailable,
    TYPES, builtin_tools, findings, postgres::CONFIG_SCHEMA, read_config,
};

fn check(schema: Value, value: Value) -> Result<(), String> {
    ArgsSchema::compile(&schema).unwrap().check(&value)
}

#[test]
fn a_value_that_does_not_fit_is_told_by_place_and_by_what_would() {
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["amount"],
        "properties": {
            "amount": {"type": "number", "exclusiveMinimum": 0, "maximum": 100},
            "status": {"enum": ["open", "paid"]},
            "mail": {"type": "string", "format": "email"},
            "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": true},
        },
    });
    let table = [
        (json!([]), "/: expected a value of type `object`"),
        (json!({}), "/: the member `amount` is missing"),
        (json!({"amount": 1, "amuont": 2}), "/: the schema has no property `amuont`"),
        (json!({"amount": "1"}), "/amount: expected a value of type `number`"),
        (json!({"amount": 0}), "/amount: expected more than 0"),
        (json!({"amount": 101}), "/amount: expected at most 100"),
        (json!({"amount": 1, "status": "x"}), "/status: expected one of `open`, `paid`"),
        (json!({"amount": 1, "mail": "x"}), "/mail: expected a text of the format `email`"),
        (json!({"amount": 1, "code": "A"}), "/code: expected a text that matches `^[a-z]+$`"),
        (json!({"amount": 1, "code": "abcd"}), "/code: expected at most 3 characters"),
        (json!({"amount": 1, "tags": ["a", 1]}), "/tags/1: expected a value of type `string`"),
        (json!({"amount": 1, "tags": ["a", "a"]}), "/tags: expected items that all differ"),
    ];
    for (value, expected) in table {
        assert_eq!(check(schema.clone(), value), Err(expected.to_owned()));
    }
    assert_eq!(check(schema, json!({"amount": 1, "status": "paid", "tags": ["a"]})), Ok(()));
}

#[test]
fn the_value_itself_is_never_repeated() {
    let secret = json!({"type": "object", "properties": {"a": {"type": "integer", "not": {}}}});
    for value in [json!("canary"), json!({"a": "canary"}), json!({"a": 4711})] {
        let error = check(secret.clone(), value).unwrap_err();
        assert!(!error.contains("canary") && !error.contains("4711"), "{error}");
    }
}

#[test]
fn schemas_from_strangers_are_bounded() {
    let mut deep = json!({});
    for _ in 0..40 {
        deep = json!({"properties": {"a": deep}});
    }
    let mut alternating = json!(true);
    for _ in 0..65 {
        alternating = json!({"not": alternating});
    }
    let long = json!({"description": "x".repeat(70_000)});
    let table = [
        (deep, "levels"),
        (alternating, "levels"),
        (long, "bytes"),
        (json!({"$ref": "https://example.com/schema"}), "schema is wrong"),
        (json!({"$ref": "file:///etc/passwd"}), "schema is wrong"),
        (json!({"$ref": "#/$defs/none"}), "schema is wrong"),
        (json!({"type": "nothing"}), "schema is wrong"),
        (json!({"pattern": "(?=look)ahead"}), "schema is wrong"),
        (json!({"format": "no such format"}), "schema is wrong"),
    ];
    for (schema, expected) in table {
        let error = ArgsSchema::compile(&schema).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_pattern_takes_linear_time() {
    let text = "a".repeat(50_000);
    let error = check(json!({"pattern": "^(a+)+$"}), json!(text.clone() + "!"));
    assert!(error.is_err());
    assert!(check(json!({"pattern": "^(a+)+$"}), json!(text)).is_ok());
}

#[test]
fn connector_files_are_yaml_or_json_and_strict() {
    let expected =
        json!({"host": "a", "port": 1, "tools": [{"ok": true, "half": 0.5, "none": null}]});
    let yaml = "host: a\nport: 1\ntools:\n  - ok: true\n    half: 0.5\n    none: ~\n";
    assert_eq!(read_config(yaml).unwrap(), expected);
    assert_eq!(read_config(&expected.to_string()).unwrap(), expected);
    for bad in [
        "",
        "a: &x 1\nb: *x\n",
        "a: 1\na: 2\n",
        "<<: {a: 1}\n",
        "a: 1\n---\nb: 2\n",
        "a: 9007199254740993\n",
        "{\"a\": 1, \"a\": 2}",
        "{\"a\": 9007199254740993}",
        "a: [",
    ] {
        assert!(read_config(bad).is_err(), "{bad:?} gave {:?}", read_config(bad));
    }
    let error = read_config("password: canary\npassword: [").unwrap_err().to_string();
    assert!(!error.contains("canary"), "{error}");
}

#[test]
fn the_published_schema_is_one_and_the_demo_fits_it() {
    let schema: Value = serde_json::from_str(CONFIG_SCHEMA).unwrap();
    let demo = read_config(SHOP_CONNECTOR).unwrap();
    assert_eq!(ArgsSchema::compile(&schema).unwrap().findings(&demo), []);
}

#[test]
fn an_unknown_kind_names_the_known_ones() {
    let blueprint = crate::Blueprint {
        org: "org_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        id: "con_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        name: "shop".parse().unwrap(),
        kind: "oracle".to_owned(),
        revision: 1,
        config: json!({}),
        credential: crate::Credential::default(),
        tools: std::collections::BTreeMap::new(),
    };
    let error = findings(&blueprint).unwrap_err().to_string();
    assert_eq!(error, "no connector is of the kind `oracle`: expected one of `postgres`, `rest`");
}

#[derive(Debug)]
struct Records;

const MINE: &str = "act_01h2xcejqtf2nbrexx3vqjhp42";

#[async_trait]
impl BuiltinSource for Records {
    async fn caller(&self, org: OrgId, _: ActionId) -> Result<Caller, SourceUnavailable> {
        let agent = "agt_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap();
        Ok(Caller { org, agent, name: "clerk".to_owned(), livemode: true })
    }

    async fn action_status(
        &self,
        _: OrgId,
        calling: ActionId,
        asked: ActionId,
    ) -> Result<Option<ActionStatus>, SourceUnavailable> {
        if asked == calling {
            return Err(SourceUnavailable);
        }
        let status = ActionStatus {
            action: asked,
            tool: "shop.read".to_owned(),
            state: State::Sealed,
            status: Status::Executed,
            created_at: Timestamp::EPOCH,
            deed: None,
        };
        Ok((asked.to_string() == MINE).then_some(status))
    }
}

async fn builtin(at: usize, args: Value) -> Result<Outcome, String> {
    let tools = builtin_tools(Arc::new(Records)).unwrap();
    tools[at].check_args(&args)?;
    let run = Run {
        org: "org_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        action: "act_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        request_digest: sha256("x"),
        args: &args,
        place: None,
        level: model::Level::L0,
        time_limit: Duration::from_secs(1),
    };
    assert_eq!(tools[at].settle(run.org, run.action, run.place).await, Settled::NotApplied);
    Ok(tools[at].run(run).await)
}

#[tokio::test]
async fn an_agent_asks_who_it_is_and_how_its_own_actions_stand() {
    let Outcome::Succeeded { result, .. } = builtin(0, json!({})).await.unwrap() else { panic!() };
    assert_eq!(result["name"], json!("clerk"));
    let args = json!({"action": MINE});
    let Outcome::Succeeded { result, .. } = builtin(1, args).await.unwrap() else { panic!() };
    assert_eq!((&result["status"], &result["deed"]), (&json!("executed"), &Value::Null));
    let other = json!({"action": "act_01h2xcejqtf2nbrexx3vqjhp43"});
    let Outcome::Failed(fault) = builtin(1, other).await.unwrap() else { panic!() };
    assert!(fault.message.contains("no action"), "{}", fault.message);
    let down = json!({"action": "act_01h2xcejqtf2nbrexx3vqjhp41"});
    assert!(matches!(builtin(1, down).await.unwrap(), Outcome::Failed(_)));
}

#[tokio::test]
async fn builtin_arguments_are_checked() {
    assert!(builtin(0, json!({"x": 1})).await.is_err());
    assert!(builtin(1, json!({})).await.is_err());
    let error = builtin(1, json!({"action": "org_1"})).await.unwrap_err();
    assert!(error.starts_with("/action: expected"), "{error}");
}

#[test]
fn builtin_definitions_are_reads_with_names_and_digests_of_their_own() {
    let tools = builtin_tools(Arc::new(Records)).unwrap();
    let definitions: Vec<_> = tools.iter().map(|tool| tool.definition()).collect();
    assert_eq!(definitions[0].name.as_str(), "service.whoami");
    assert_eq!(definitions[1].name.as_str(), "service.action_status");
    assert_ne!(definitions[0].digest, definitions[1].digest);
    assert!(definitions.iter().all(|one| one.side_effect == model::SideEffect::Read));
}

#[test]
fn every_kind_is_offered_with_a_schema_and_a_credential() {
    let offered: Vec<_> = TYPES.iter().map(|known| known.kind).collect();
    assert_eq!(offered, KINDS);
    for known in TYPES {
        let schema: Value = serde_json::from_str(known.config_schema).unwrap();
        assert!(schema.is_object() && !known.credentials.is_empty(), "{}", known.kind);
    }
}
