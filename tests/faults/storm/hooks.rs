//! Receivers of what happens in a house while it is struck. They take everything, and one of them some
//! events at the second attempt only; what did not arrive as it should have is found afterwards.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use model::EventId;
use serde_json::{Value, json};

use crate::{
    house::{House, Request, Service},
    receiver::{Manner, Receiver, Seen, is_a_fifth},
};

/// Longer than a claim of somebody who is gone, and than the wait before a second try. What has not
/// arrived is lost once nothing else has arrived for so long.
const QUIET_FOR: Duration = Duration::from_secs(75);
/// Between two looks for what is missing; so many times as long as a look takes, where that is longer,
/// because posts yield to whatever else needs the processors.
const PAUSE: Duration = Duration::from_millis(250);
const PAUSES: u32 = 10;
/// What each of them asks for, and how it answers.
const ASKED: [(&[&str], Manner); 4] = [
    (&[], Manner::Takes),
    (&["action.*"], Manner::Takes),
    (&["deed.sealed"], Manner::Takes),
    (&["deed.sealed"], Manner::Falters),
];

/// How much was posted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Posted {
    /// Events, once for each receiver that asked for them.
    pub(crate) events: usize,
    /// How many of them arrived more than once.
    pub(crate) repeated: usize,
}

/// The receivers of a house.
#[derive(Debug)]
pub(crate) struct Hooks(Vec<Hook>);

#[derive(Debug)]
struct Hook {
    receiver: Receiver,
    id: model::WebhookId,
    secret: String,
    asked: &'static [&'static str],
    /// Whether it refuses some first attempts.
    falters: bool,
    /// The org's last event when the endpoint was made.
    behind: i64,
}

impl Hooks {
    /// Has everything that happens from now on posted.
    pub(crate) async fn start(house: &House, service: &Service) -> Self {
        let admin = service.caller(&house.org_key().await);
        let mut hooks = Vec::new();
        for (asked, manner) in ASKED {
            let receiver = Receiver::start(manner).await;
            let body = json!({ "url": receiver.url(), "types": asked });
            let made = admin.send(Request::post("/v1/webhook_endpoints", &body)).await.is(201);
            let text = |name: &str| made[name].as_str().unwrap().to_owned();
            let (id, secret) = (text("id").parse().unwrap(), text("secret"));
            let behind = house.control.count("select max(seq) from event").await;
            let falters = matches!(manner, Manner::Falters);
            hooks.push(Hook { receiver, id, secret, asked, falters, behind });
        }
        Self(hooks)
    }

    /// Waits until everything has arrived, and returns how much that is and what of it did not
    /// arrive, or not as it should have.
    pub(crate) async fn end(self, house: &House) -> (Posted, Vec<String>) {
        let (mut posted, mut found) = (Posted::default(), Vec::new());
        for hook in &self.0 {
            found.extend(hook.missing(house).await);
            let events = hook.events(house).await;
            let seen = hook.receiver.seen();
            found.extend(hook.forged(&events, &seen));
            found.extend(hook.disordered(house, &events, &seen).await);
            posted.events += events.len();
            let mut times: BTreeMap<&str, usize> = BTreeMap::new();
            for one in &seen {
                *times.entry(one.header("webhook-id")).or_default() += 1;
            }
            // What was refused at first came once more because of that.
            let wanted = |id: &str| 1 + usize::from(hook.falters && is_a_fifth(id));
            posted.repeated += times.iter().filter(|(id, times)| **times > wanted(id)).count();
        }
        (posted, found)
    }
}

impl Hook {
    /// The events that it asked for, in the order of commits.
    async fn events(&self, house: &House) -> Vec<String> {
        let sql = "select id, kind from event where seq > $1 order by seq";
        let rows = house.control.client().await.query(sql, &[&self.behind]).await.unwrap();
        let asked = |kind: &str| {
            self.asked.is_empty()
                || self.asked.iter().any(|asked| match asked.strip_suffix('*') {
                    Some(family) => kind.starts_with(family),
                    None => kind == *asked,
                })
        };
        let asked = rows.iter().filter(|row| asked(row.get(1)));
        asked.map(|row| EventId::from_uuid(row.get(0)).to_string()).collect()
    }

    /// What became of each event, as the record has it: its deliveries' status and count of tries.
    async fn recorded(&self, house: &House) -> BTreeMap<String, (String, usize)> {
        let sql = "select event_id, status, tries from webhook_delivery where webhook_id = $1";
        let rows = house.control.client().await.query(sql, &[self.id.as_uuid()]).await.unwrap();
        let tries = |text: &str| serde_json::from_str::<Vec<Value>>(text).unwrap().len();
        let one = |row: &tokio_postgres::Row| {
            let id = EventId::from_uuid(row.get(0)).to_string();
            (id, (row.get(1), tries(row.get(2))))
        };
        rows.iter().map(one).collect()
    }

    /// Waits as long as something arrives, and returns what did not, or is not known to have.
    async fn missing(&self, house: &House) -> Vec<String> {
        let (mut count, mut changed) = (self.receiver.count(), Instant::now());
        loop {
            let began = Instant::now();
            let lost = self.lost(house).await;
            if lost.is_empty() || changed.elapsed() > QUIET_FOR {
                return lost;
            }
            tokio::time::sleep(PAUSE.max(began.elapsed() * PAUSES)).await;
            let arrived = self.receiver.count();
            if arrived > count {
                (count, changed) = (arrived, Instant::now());
            }
        }
    }

    /// What did not arrive, or is not known to have arrived.
    async fn lost(&self, house: &House) -> Vec<String> {
        let seen: BTreeSet<_> =
            self.receiver.seen().iter().map(|seen| seen.header("webhook-id").to_owned()).collect();
        let recorded = self.recorded(house).await;
        let is_recorded = |id: &str| {
            recorded.get(id).is_some_and(|(status, tries)| match status.as_str() {
                "delivered" => true,
                // It was taken, and the response was lost.
                "retrying" => *tries > usize::from(self.falters),
                _ => false,
            })
        };
        let lost = |id: String| match (seen.contains(&id), is_recorded(&id)) {
            (true, true) => None,
            (false, _) => Some(format!("{id} was never posted to {}", self.id)),
            (true, false) => Some(format!("{id} was posted to {} without a record", self.id)),
        };
        self.events(house).await.into_iter().filter_map(lost).collect()
    }

    /// What arrived and is not what happened: unasked, unsigned, or another time otherwise.
    fn forged(&self, events: &[String], seen: &[Seen]) -> Vec<String> {
        let events: BTreeSet<_> = events.iter().map(String::as_str).collect();
        let mut bodies: BTreeMap<&str, &str> = BTreeMap::new();
        let mut found = Vec::new();
        for one in seen {
            let id = one.header("webhook-id");
            let body: Value = serde_json::from_str(&one.body).unwrap();
            if !events.contains(id) {
                found.push(format!("{id} was posted to {}, which asks for no such", self.id));
            }
            if body["id"] != id || *bodies.entry(id).or_insert(&one.body) != one.body {
                found.push(format!("{id} was posted to {} with another body", self.id));
            }
            if !one.is_signed(&self.secret) {
                found.push(format!("{id} was posted to {} with no signature of it", self.id));
            }
        }
        found
    }

    /// What arrived before something that was committed earlier, though its first try was taken.
    async fn disordered(&self, house: &House, events: &[String], seen: &[Seen]) -> Vec<String> {
        let recorded = self.recorded(house).await;
        let at_once = |id: &&str| recorded.get(*id).is_some_and(|(_, tries)| *tries == 1);
        let mut first = BTreeSet::new();
        let arrived = seen.iter().map(|seen| seen.header("webhook-id"));
        let arrived: Vec<_> = arrived.filter(|id| first.insert(*id)).filter(at_once).collect();
        let known: BTreeSet<_> = arrived.iter().copied().collect();
        let committed: Vec<_> =
            events.iter().map(String::as_str).filter(|id| known.contains(id)).collect();
        let differ = arrived.iter().zip(&committed).find(|(arrived, due)| arrived != due);
        differ
            .map(|(arrived, due)| format!("{arrived} arrived at {} before {due}", self.id))
            .into_iter()
            .collect()
    }
}
