//! What both databases hold of a house, and the offline check of its deeds.

use std::process::Output;

use base64::{Engine, engine::general_purpose::STANDARD};
use model::ActionId;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Caller, House};

/// The type of a deed's payload.
const DEED_TYPE: &str = "application/vnd.service.deed.v1+json";

/// A deed as the control database holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    /// Its place in the log.
    pub seq: i64,
    /// Its exact body.
    pub body: String,
    /// Its signature.
    pub signature: Vec<u8>,
    /// The key that signed it.
    pub key_id: String,
}

/// What `chancery verify` said.
#[derive(Debug)]
pub struct Checked {
    /// Its exit code.
    pub code: i32,
    /// Its report.
    pub report: Value,
}

impl Deed {
    /// The deed's DSSE envelope.
    pub fn envelope(&self) -> Value {
        json!({
            "payload": STANDARD.encode(&self.body),
            "payloadType": DEED_TYPE,
            "signatures": [{ "keyid": self.key_id, "sig": STANDARD.encode(&self.signature) }],
        })
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

impl House {
    /// Every deed of the house's org, in the order of the log.
    pub async fn deeds(&self) -> Vec<Deed> {
        let sql = "select seq, body, signature, key_id from deed where org_id = $1 order by seq";
        let rows = self.control.client().await.query(sql, &[&self.org_uuid()]).await.unwrap();
        let deed = |row: &tokio_postgres::Row| Deed {
            seq: row.get(0),
            body: row.get(1),
            signature: row.get(2),
            key_id: row.get(3),
        };
        rows.iter().map(deed).collect()
    }

    /// Checks lines of deeds offline with the keys that the service publishes.
    pub async fn verify(&self, caller: &Caller, lines: &str, more: &[&str]) -> Checked {
        let keys = caller.get("/.well-known/service/keys.json").await;
        let name = super::name();
        let keys = self.write(&format!("{name}-keys.json"), &keys.ok().to_string());
        let file = self.write(&format!("{name}.jsonl"), lines);
        let words = ["verify", file.to_str().unwrap(), "--keys", keys.to_str().unwrap(), "--json"];
        let output = self.verbs.output(&[words.as_slice(), more].concat()).await;
        checked(&output)
    }

    /// Checks the whole log of the house's org and returns its deeds: gapless and valid.
    pub async fn sound_log(&self, caller: &Caller) -> Vec<Deed> {
        let deeds = self.deeds().await;
        let gapless = deeds.iter().zip(0..).all(|(deed, place)| deed.seq == place);
        assert!(gapless, "a place in the log is empty");
        let checked = self.verify(caller, &lines(&deeds), &[]).await;
        assert_eq!(checked.code, 0, "{}", checked.report);
        assert_eq!(checked.report["grade"], "chained");
        deeds
    }

    /// What `chancery check` finds broken in the record.
    pub async fn broken_invariants(&self) -> Vec<String> {
        let words = ["--config", "settings.yaml", "check", "--json"];
        let output = self.verbs.output(&words).await;
        let Checked { report, .. } = checked(&output);
        let record = report["record"].as_array().unwrap_or_else(|| panic!("{report}")).clone();
        let broken = record.iter().filter(|line| line["violations"] != 0);
        broken
            .map(|line| format!("the record breaks {}: {}", line["name"], line["first"]))
            .collect()
    }

    /// How many rows of `lab_notes` bear the mark.
    pub async fn notes(&self, mark: &str) -> i64 {
        let client = self.governed.client().await;
        let sql = "select count(*) from lab_notes where mark = $1";
        client.query_one(sql, &[&mark]).await.unwrap().get(0)
    }

    /// How the governed ledger knows each action: `act` for one that was applied, `void`
    /// for one that never will be.
    pub async fn governed_ledger(&self) -> Vec<(Uuid, String)> {
        let client = self.governed.client().await;
        let rows = client.query("select action_id, kind from service.ledger", &[]).await.unwrap();
        let entry = |row: &tokio_postgres::Row| {
            let id: ActionId = row.get::<_, String>(0).parse().unwrap();
            (*id.as_uuid(), row.get(1))
        };
        rows.iter().map(entry).collect()
    }

    /// The org's id as the databases hold it.
    pub fn org_uuid(&self) -> Uuid {
        self.org.parse::<model::OrgId>().unwrap().as_uuid().to_owned()
    }
}

/// The deeds as `chancery verify` reads them.
pub fn lines(deeds: &[Deed]) -> String {
    deeds.iter().fold(String::new(), |lines, deed| lines + &deed.envelope().to_string() + "\n")
}

fn checked(output: &Output) -> Checked {
    let said = String::from_utf8_lossy(&output.stderr);
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| json!(said));
    Checked { code: output.status.code().unwrap_or(-1), report }
}
