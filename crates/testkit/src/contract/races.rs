//! Many write one org at once: every turn gets its place, and none gets another's.

use std::sync::Arc;

use ledger::{AppendError, Changes};

use super::Store;
use crate::{Draft, Scribe};

const WRITERS: u64 = 64;

pub(super) async fn check(store: Arc<dyn Store>) {
    writers_of_one_org_lose_nothing_and_leave_no_gap(Arc::clone(&store)).await;
    one_of_many_founders_founds_the_org(store).await;
}

async fn writers_of_one_org_lose_nothing_and_leave_no_gap(store: Arc<dyn Store>) {
    let scribe = Scribe::created(400, &*store).await;
    let (org, first) = (scribe.org, scribe.turn(Vec::new()).expected.unwrap().version);
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..WRITERS {
        let store = Arc::clone(&store);
        writers.spawn(async move { write_once(&*store, org, number).await });
    }
    let losses: u64 = writers.join_all().await.into_iter().sum();
    assert!(losses > 0, "the writers never met, so nothing was shown");
    let base = store.base(org).await.unwrap().0.unwrap();
    assert_eq!(base.head.version, first + WRITERS);
    assert_eq!(base.head.chain.size(), WRITERS);
    let events = store.events_after(org, 0, 1_000).await.unwrap();
    let places: Vec<_> = events.iter().map(|event| event.seq).collect();
    assert_eq!(places, (1..=WRITERS).collect::<Vec<_>>());
    let agents = store.agents(org, &admin::AgentList::all(), 1_000).await.unwrap();
    let mut names: Vec<_> = agents.into_iter().map(|agent| agent.name).collect();
    names.sort();
    let mut expected: Vec<_> = (0..WRITERS).map(|number| format!("writer {number}")).collect();
    expected.sort();
    assert_eq!(names, expected);
}

/// Appends one turn, however often that takes, and returns how often the head was lost.
async fn write_once(store: &dyn Store, org: model::OrgId, number: u64) -> u64 {
    let mut scribe = Scribe::new(401_000 + number, model::Timestamp::EPOCH);
    scribe.org = org;
    let mut losses = 0;
    loop {
        scribe.now = store.base(org).await.unwrap().1;
        scribe.reread(store).await;
        let draft = Draft {
            changes: Changes::from(scribe.agent(&format!("writer {number}"))),
            deeds: vec![scribe.deed(None)],
            events: vec![scribe.event(None)],
        };
        let turn = scribe.turn(draft);
        tokio::task::yield_now().await;
        match store.append(&turn).await {
            Ok(_) => return losses,
            Err(AppendError::Lost) => losses += 1,
            Err(error) => panic!("a race ends in nothing but a lost head: {error:?}"),
        }
    }
}

async fn one_of_many_founders_founds_the_org(store: Arc<dyn Store>) {
    let at = store.base(model::OrgId::from_uuid(uuid::Uuid::nil())).await.unwrap().1;
    let org = Scribe::new(402, at).org;
    let mut founders = tokio::task::JoinSet::new();
    for number in 0..16 {
        let store = Arc::clone(&store);
        founders.spawn(async move {
            let mut scribe = Scribe::new(403 + number, at);
            scribe.org = org;
            let turn = scribe.turn(vec![Changes::from(scribe.org_row())]);
            match store.append(&turn).await {
                Ok(_) => 1,
                Err(AppendError::Lost) => 0,
                Err(error) => panic!("a race ends in nothing but a lost head: {error:?}"),
            }
        });
    }
    assert_eq!(founders.join_all().await.into_iter().sum::<i32>(), 1);
}
