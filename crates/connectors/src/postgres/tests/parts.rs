//! The parts that need no database.

use crypto::{Secret, SystemEntropy, hmac_sha256, json, vault::Ring};
use model::{ActionId, ConnectorId, Digest};
use serde_json::{Value, json};

use super::world::{read_tool, write_tool};
use crate::{
    Finding,
    postgres::{
        Witness, config_findings, hex,
        marker::{Kind, MarkerKey, Subject},
        setup_sql,
        statement::{BadStatement, parse},
    },
};

#[test]
fn parameters_are_numbered_and_what_only_looks_like_one_is_left_alone() {
    let table: [(&str, &str, &[&str]); 14] = [
        ("select $a, $b, $a", "select $1, $2, $1", &["a", "b"]),
        ("select $_x1::int8", "select $1::int8", &["_x1"]),
        ("select '$a', $b", "select '$a', $1", &["b"]),
        ("select 'it''s $a', $b", "select 'it''s $a', $1", &["b"]),
        (r"select 'a\', $b, 'c'", r"select 'a\', $1, 'c'", &["b"]),
        (r"select e'a\'$a', $b", r"select e'a\'$a', $1", &["b"]),
        (r"select E'\\', $b", r"select E'\\', $1", &["b"]),
        (r#"select "$a""$b", $c"#, r#"select "$a""$b", $1"#, &["c"]),
        ("select $$ $a $$, $b", "select $$ $a $$, $1", &["b"]),
        ("select $t$ $a $$ $u$ $t$, $b", "select $t$ $a $$ $u$ $t$, $1", &["b"]),
        ("select 1 -- $a\n, $b", "select 1 -- $a\n, $1", &["b"]),
        ("select /* $a /* ; */ $a */ $b;", "select /* $a /* ; */ $a */ $1", &["b"]),
        ("select a$b, t.\"x\", $c ; -- the end", "select a$b, t.\"x\", $1", &["c"]),
        (
            "select j -> 'k', j #>> '{a}', j ? 'k', 1 % 2, $ü",
            "select j -> 'k', j #>> '{a}', j ? 'k', 1 % 2, $1",
            &["ü"],
        ),
    ];
    for (sql, text, names) in table {
        let statement = parse(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(
            (statement.text.as_str(), &statement.names[..]),
            (text, &names.iter().map(ToString::to_string).collect::<Vec<_>>()[..]),
            "{sql}"
        );
    }
}

#[test]
fn texts_that_are_not_one_statement_are_refused() {
    let table = [
        ("select 1; select 2", BadStatement::Several),
        ("select 1;;", BadStatement::Several),
        ("select 1; /* */ commit", BadStatement::Several),
        ("", BadStatement::Verb),
        ("-- select 1", BadStatement::Verb),
        ("/* x */ commit", BadStatement::Verb),
        ("; select 1", BadStatement::Several),
        ("savepoint a", BadStatement::Verb),
        ("explain select 1", BadStatement::Verb),
        ("\"select\" 1", BadStatement::Verb),
        ("select $1", BadStatement::Positional('1')),
        ("select 'a", BadStatement::Unterminated("a text literal")),
        (r"select e'a\'", BadStatement::Unterminated("a text literal")),
        ("select \"a", BadStatement::Unterminated("a quoted identifier")),
        ("select $$ a", BadStatement::Unterminated("a dollar-quoted text")),
        ("select $t$ a $$", BadStatement::Unterminated("a dollar-quoted text")),
        ("select /* /* */", BadStatement::Unterminated("a comment")),
        ("select 1; /* ", BadStatement::Unterminated("a comment")),
        ("select '\0'", BadStatement::Nul),
    ];
    for (sql, expected) in table {
        assert_eq!(parse(sql), Err(expected), "{sql}");
    }
}

#[test]
fn a_marker_is_bound_to_its_transaction_and_signed() {
    let ring = Secret::new("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned());
    let ring = Ring::parse(&ring).unwrap();
    let connector: ConnectorId = "con_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap();
    let action: ActionId = "act_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap();
    let key = MarkerKey::derive(&ring, connector).unwrap();
    let subject = Subject {
        kind: Kind::Act,
        action: Some(action),
        request_digest: Some(Digest::from_bytes([7; 32])),
        xid: "18446744073709551615",
        system: "18446744073709551615",
    };
    let marker = key.mark(&subject, &SystemEntropy::new());
    assert!(marker.text.len() <= 512, "{} bytes", marker.text.len());
    let mut body: Value = serde_json::from_str(&marker.text).unwrap();
    assert_eq!(json::canonical(&body), marker.text.as_bytes(), "the marker is canonical");
    let mac = body.as_object_mut().unwrap().remove("mac").unwrap();
    let secret = ring.derive(&format!("service.marker.v1 {connector}")).unwrap();
    let expected = hmac_sha256(secret.expose(), &json::canonical(&body));
    assert_eq!(mac, json!(hex(&expected)), "the MAC covers all the rest");
    assert_eq!((&body["kind"], &body["v"], &body["att"]), (&json!("act"), &json!(1), &json!(1)));
    assert_eq!(body["n"].as_str().unwrap().len(), 32);
    assert_eq!(body["kid"].as_str().unwrap().len(), 16);
    let keys = [decoder::attribution::MarkerKey::new(secret)];
    let site = decoder::attribution::Site { connector, system: subject.system, keys: &keys };
    let read = decoder::attribution::Marker::read(Some(marker.text.as_bytes())).unwrap();
    let read = read.checked(u32::MAX, &site).expect("a marker that the decoder takes for true");
    assert_eq!((read.action, read.request_digest), (Some(action), subject.request_digest));
    assert_eq!((read.kind.as_str(), read.nonce), (subject.kind.as_str(), marker.nonce.clone()));
    let again = key.mark(&subject, &SystemEntropy::new());
    assert_ne!(marker.nonce, again.nonce);
    let other =
        MarkerKey::derive(&ring, "con_01h2xcejqtf2nbrexx3vqjhp42".parse().unwrap()).unwrap();
    let other: Value =
        serde_json::from_str(&other.mark(&subject, &SystemEntropy::new()).text).unwrap();
    assert_ne!(other["kid"], body["kid"], "each connector has a key of its own");
}

fn findings(config: Value) -> Vec<Finding> {
    config_findings(&"shop".parse().unwrap(), &config)
}

fn config(tool: Value) -> Value {
    json!({"host": "db.example.com", "database": "shop", "tools": [tool]})
}

#[test]
fn a_config_says_everything_that_is_wrong_with_it_at_once() {
    let good = read_tool("x", "select $a as a", json!({"a": {}}), "row");
    assert_eq!(findings(config(good.clone())), []);
    let mut bad = config(good.clone());
    bad["prot"] = json!(5432);
    bad["tls"] = json!({"mode": "prefer"});
    bad["tools"][0]["max_rows"] = json!(0);
    let found = findings(bad);
    for (at, word) in
        [("/", "`prot`"), ("/tls/mode", "`verify-full`"), ("/tools/0/max_rows", "at least 1")]
    {
        let fits = |finding: &Finding| finding.at == at && finding.message.contains(word);
        assert!(found.iter().any(fits), "{at} {word}: {found:?}");
    }
    let table = [
        ("name", json!("undo"), "/tools/0/name", "reserved"),
        ("sql", json!("select $b as b"), "/tools/0/sql", "`$b`"),
        ("sql", json!("select 1 as a"), "/tools/0/args", "`a`"),
        ("sql", json!("delete from t where a = $a"), "/tools/0/sql", "may not change rows"),
        (
            "args",
            json!({"type": "object", "properties": {"a": {}}}),
            "/tools/0/args",
            "additionalProperties",
        ),
        (
            "args",
            json!({"type": "object", "additionalProperties": false, "properties": {"a": {"type": "x"}}}),
            "/tools/0/args",
            "schema",
        ),
        ("side_effect", json!("write"), "/tools/0/footprint", "expected the tables"),
        (
            "footprint",
            json!({"tables": {"t": ["insert"]}, "max_rows": 1}),
            "/tools/0/footprint",
            "no footprint",
        ),
        ("estimate_sql", json!("delete from t"), "/tools/0/estimate_sql", "may not change"),
    ];
    for (member, value, at, word) in table {
        let mut tool = good.clone();
        tool[member] = value;
        let found = findings(config(tool));
        let fits = |finding: &Finding| finding.at == at && finding.message.contains(word);
        assert!(found.iter().any(fits), "{member} {word}: {found:?}");
    }
    let mut twice = config(good.clone());
    twice["tools"] = json!([good.clone(), good]);
    assert_eq!(findings(twice)[0].at, "/tools/1/name");
}

#[test]
fn a_host_has_the_form_of_one_before_anything_is_asked_there() {
    let with = |host: &str| {
        let mut config = config(read_tool("x", "select $a as a", json!({"a": {}}), "row"));
        config["host"] = json!(host);
        findings(config)
    };
    for good in ["db.example.com", "DB", "10.0.0.7", "2001:db8::1", "[::1]", "db_1.internal"] {
        assert_eq!(with(good), [], "{good}");
    }
    for bad in [
        "u:p@db.example",
        "db.example:5432",
        "db example",
        "/var/run/postgresql",
        "db.example,other.example",
        // The C library reads these as addresses of this machine.
        "127.1",
        "2130706433",
        "0x7f.1",
        "db..example",
        "ｄｂ.example",
        "db.example\u{202e}",
        "postgres://db.example",
    ] {
        let found = with(bad);
        assert!(found.iter().any(|it| it.at == "/host"), "{bad}: {found:?}");
    }
}

#[test]
fn the_setup_script_grants_what_is_declared_and_asks_for_passwords() {
    let mut tool = write_tool("x", "update items set a = 1", json!({}), "count");
    tool["footprint"] = json!({
        "tables": {"items": ["update"], "other.logs": ["insert"]},
        "columns": {"items": ["a"]}, "max_rows": 1,
    });
    let mut config = config(tool);
    config["read_user"] = json!("svc_read");
    config["read_tables"] = json!(["people"]);
    let blueprint = crate::Blueprint {
        org: "org_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        id: "con_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        name: "shop".parse().unwrap(),
        kind: "postgres".to_owned(),
        revision: 1,
        config,
        credential: crate::Credential::default(),
        tools: std::collections::BTreeMap::new(),
    };
    let script = setup_sql(&blueprint, Witness::Wanted).unwrap();
    for line in [
        "grant update (\"a\") on \"items\" to \"svc_conn\";",
        "grant insert on \"other\".\"logs\" to \"svc_conn\";",
        "grant select on \"people\" to \"svc_conn\", \"svc_read\";",
        "grant usage on schema \"other\" to \"svc_conn\", \"svc_read\";",
        "alter role \"svc_conn\" password :'conn_password';",
        "alter role \"svc_read\" password :'read_password';",
    ] {
        assert!(script.contains(line), "{line}\n{script}");
    }
    assert!(!script.contains("decoder_password'"), "nobody has a password for the decoder");
    for leftover in [
        "{path}",
        "{logins}",
        "{owner}",
        "{conn}",
        "{read}",
        "{decoder}",
        "{grants}",
        "{passwords}",
        "{table}",
    ] {
        assert!(!script.contains(leftover), "{leftover}");
    }
}
