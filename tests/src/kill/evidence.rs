//! What the clients and the edges noted, joined with what both databases hold.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use model::ActionId;
use serde_json::Value;
use uuid::Uuid;

use crate::house::{Caller, House};

/// A lease, a sweep, and some time to spare.
const SEALED_WITHIN: Duration = Duration::from_mins(1);
/// The tools that leave a row for each run, which bears the key of its call.
const LEAVE_A_ROW: [&str; 2] = ["lab.note", "lab.counted"];

/// What clients were told: by key, every action that answered it; and what edges ran.
#[derive(Debug, Default)]
pub struct Evidence {
    told: BTreeMap<String, Vec<Value>>,
    ran: BTreeMap<Uuid, usize>,
}

/// An action as the control database holds it.
struct Recorded {
    key: String,
    id: Uuid,
    tool: String,
    status: String,
    execution: Option<String>,
}

impl Evidence {
    /// Notes that this key was used, and the action that answered, if one did.
    pub fn note(&mut self, key: &str, answered: Option<Value>) {
        self.told.entry(key.to_owned()).or_default().extend(answered);
    }

    /// Takes over what somebody else noted.
    pub fn extend(&mut self, other: Self) {
        for (key, answers) in other.told {
            self.told.entry(key).or_default().extend(answers);
        }
        for (id, times) in other.ran {
            *self.ran.entry(id).or_default() += times;
        }
    }

    /// Notes that an edge ran the action of this id.
    pub fn edge_ran(&mut self, id: &str) {
        *self.ran.entry(*id.parse::<ActionId>().unwrap().as_uuid()).or_default() += 1;
    }

    /// How many different calls were sent.
    pub fn calls(&self) -> usize {
        self.told.len()
    }

    /// Waits until everything is sealed and returns every disagreement of the records.
    pub async fn violations(&self, house: &House, caller: &Caller) -> Vec<String> {
        let mut found = unsealed(house).await;
        let recorded = recorded(house).await;
        let notes = notes(house).await;
        for action in recorded.iter().filter(|action| LEAVE_A_ROW.contains(&&*action.tool)) {
            let rows = notes.get(&action.key).copied().unwrap_or_default();
            found.extend(against_its_rows(action, rows));
        }
        let keys: BTreeSet<_> = recorded.iter().map(|action| action.key.as_str()).collect();
        let unrecorded = notes.keys().filter(|mark| !keys.contains(mark.as_str()));
        found.extend(unrecorded.map(|mark| format!("`{mark}` ran without a record")));
        let known: BTreeMap<_, _> = recorded.iter().map(|action| (action.id, action)).collect();
        let ledger = house.governed_ledger().await;
        let foreign = ledger.iter().filter(|(id, _)| !known.contains_key(id));
        found.extend(foreign.map(|(id, kind)| format!("`{kind}` of {id} has no record")));
        found.extend(self.ran.iter().filter_map(|(id, times)| at_the_edge(&known, *id, *times)));
        found.extend(self.against_what_was_told(house, &keys).await);
        found.extend(house.broken_invariants().await);
        house.sound_log(caller).await;
        found
    }

    async fn against_what_was_told(&self, house: &House, recorded: &BTreeSet<&str>) -> Vec<String> {
        let log = house.deeds().await;
        let ids: BTreeSet<String> = log.iter().map(|deed| text(&deed.json()["id"])).collect();
        let mut found = Vec::new();
        for (key, answers) in &self.told {
            let actions: BTreeSet<_> = answers.iter().map(|answer| text(&answer["id"])).collect();
            if actions.len() > 1 {
                found.push(format!("`{key}` was answered with several actions: {actions:?}"));
            }
            let deeds: BTreeSet<_> =
                answers.iter().filter_map(|answer| answer["deed"].as_str()).collect();
            let lost = deeds.iter().filter(|deed| !ids.contains(**deed));
            found.extend(lost.map(|deed| format!("`{key}`: the acknowledged {deed} is lost")));
            if !answers.is_empty() && !recorded.contains(key.as_str()) {
                found.push(format!("`{key}` was answered and is not recorded"));
            }
        }
        found
    }
}

fn against_its_rows(action: &Recorded, rows: i64) -> Option<String> {
    let Recorded { key, status, execution, .. } = action;
    let said = (status.as_str(), execution.as_deref());
    match (said, rows) {
        (_, 2..) => Some(format!("`{key}` ran {rows} times")),
        // An unknown outcome says nothing of the rows.
        (("executed", Some("succeeded")), 1)
        | (("failed", Some("failed")) | ("denied" | "cancelled", None), 0)
        | (("executed", Some("unknown")), 0 | 1) => None,
        (said, rows) => Some(format!("`{key}` is {said:?} and left {rows} rows")),
    }
}

/// What is wrong with an action that an edge ran so many times.
fn at_the_edge(known: &BTreeMap<Uuid, &Recorded>, id: Uuid, times: usize) -> Option<String> {
    let Some(action) = known.get(&id) else {
        return Some(format!("{id} ran at an edge without a record"));
    };
    let key = &action.key;
    match (times, action.status.as_str()) {
        (2.., _) => Some(format!("`{key}` ran {times} times at its edge")),
        (_, "executed") => None,
        (_, status) => Some(format!("`{key}` ran at its edge and is {status}")),
    }
}

/// What is still open after everything has had its time.
async fn unsealed(house: &House) -> Vec<String> {
    let sql = "select count(*) from action where state <> 'sealed'";
    let deadline = Instant::now() + SEALED_WITHIN;
    while Instant::now() < deadline {
        if house.control.count(sql).await == 0 {
            return Vec::new();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let open = "select key from action left join idempotency on idempotency.org_id = action.org_id
                    and action_id = action.id
                where state <> 'sealed'";
    let rows = house.control.client().await.query(open, &[]).await.unwrap();
    let key = |row: &tokio_postgres::Row| row.get::<_, Option<String>>(0).unwrap_or_default();
    rows.iter().map(|row| format!("`{}` is not sealed", key(row))).collect()
}

async fn recorded(house: &House) -> Vec<Recorded> {
    let sql = "select key, id, tool, status, execution_status
               from action left join idempotency
                 on idempotency.org_id = action.org_id and action_id = action.id
                    and key not like chr(1) || '%'
               where action.org_id = $1";
    let client = house.control.client().await;
    let rows = client.query(sql, &[&house.org_uuid()]).await.unwrap();
    let action = |row: &tokio_postgres::Row| Recorded {
        key: row.get::<_, Option<String>>(0).unwrap_or_default(),
        id: row.get(1),
        tool: row.get(2),
        status: row.get(3),
        execution: row.get(4),
    };
    rows.iter().map(action).collect()
}

async fn notes(house: &House) -> BTreeMap<String, i64> {
    let sql = "select mark, count(*) from lab_notes group by mark";
    let rows = house.governed.client().await.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
