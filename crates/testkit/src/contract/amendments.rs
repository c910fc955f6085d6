//! What became known of an action once it was sealed: noted in its row, and a deed beside its first one
//! with what opens it alone.

use deed::{
    Actor, Amended, AmendmentContent, AmendmentReason, Disclosure, Draft, Path, Witness, Word,
    commit,
};
use gate::ActionDetail;
use ledger::{
    DeedEntry,
    record::{Action, Amendment, Pruned},
};
use model::{DeedId, DeedKind, EventId, EventType, Level, Verdict};
use records::{DeedFilter, EntryFilter, Window};
use serde_json::json;

use super::Store;
use crate::{Scribe, sample, scribe};

pub(super) async fn check(store: &dyn Store) {
    an_amendment_stands_beside_the_deed_that_it_amends(store).await;
}

/// An amendment of the action's deed, and what opens it.
fn amending(scribe: &Scribe, action: &Action, amends: Amended) -> DeedEntry {
    let mint = scribe.mint();
    let (detail, opens) = commit(&mint, Path::AMENDED_WITNESS_DETAIL, &json!({ "rows": 1 }));
    let content = AmendmentContent {
        amends,
        n: 1,
        reason: AmendmentReason::LateEvidence,
        changes: deed::Changes {
            execution: None,
            witness: Some(Witness::nobody(mint.now(), detail)),
        },
    };
    let id = mint.id(DeedId::from_uuid);
    let draft = Draft::amendment(id, Actor::System(Word::of("service")), action.id, content);
    let (agent, action) = (Some(action.agent.id), Some(action.id));
    DeedEntry { draft, disclosures: vec![opens], agent, action }
}

/// The event that tells of the deed at this place.
fn told(scribe: &Scribe, (entry, seq): (&DeedEntry, u64), kind: EventType) -> event::Draft {
    event::Draft {
        id: scribe.mint().id(EventId::from_uuid),
        kind,
        agent: entry.agent,
        object: json!({ "object": "deed", "id": entry.draft.id, "seq": seq }),
        ..scribe.event(entry.action)
    }
}

fn kinds(detail: &ActionDetail) -> Vec<DeedKind> {
    detail.deeds.iter().map(|deed| deed.kind).collect()
}

fn paths(opens: &[Disclosure]) -> Vec<&str> {
    let mut paths: Vec<_> = opens.iter().map(|open| open.path().as_str()).collect();
    paths.sort_unstable();
    paths
}

async fn an_amendment_stands_beside_the_deed_that_it_amends(store: &dyn Store) {
    let mut scribe = Scribe::created(715, store).await;
    let mint = scribe.mint();
    let (request, opens) = sample::request(&json!({}), &mint);
    let begun = sample::action(&scribe.agent("late"), request, &mint);
    let deed = scribe.deed(Some(begun.id));
    let sealed = sample::sealed(&begun, deed.draft.id);
    scribe.append(store, vec![sample::begun(begun.clone(), vec![opens])]).await.unwrap();
    let changes = sample::moved(sealed.clone());
    let draft = scribe::Draft { changes, deeds: vec![deed], events: vec![] };
    let turn = scribe.append(store, draft).await.unwrap();
    let first = turn.deeds[0].sealed.clone();

    let amends = Amended { id: first.id, digest: first.digest, seq: first.seq };
    let entry = amending(&scribe, &sealed, amends);
    let amendment = Amendment {
        deed: entry.draft.id,
        amended_at: scribe.now,
        execution: None,
        witness: sample::witness(Verdict::Mismatch, Level::L2, scribe.now),
    };
    let amended = Action { amendment: Some(Box::new(amendment)), ..sealed };
    let at = (&entry, first.seq + 1);
    let events = [EventType::DeedSealed, EventType::DeedAmended];
    let events = events.map(|kind| told(&scribe, at, kind)).to_vec();
    let (id, changes) = (entry.draft.id, sample::moved(amended.clone()));
    let draft = scribe::Draft { changes, deeds: vec![entry], events };
    scribe.append(store, draft).await.unwrap();

    let detail = store.detail(scribe.org, begun.id).await.unwrap().unwrap();
    assert_eq!(detail.action, amended);
    assert_eq!(kinds(&detail), [DeedKind::Admin, DeedKind::Amendment]);
    let all = ["action.request", "admin.reason", "amendment.changes.witness.detail"];
    assert_eq!(paths(&detail.disclosures), all);
    let found = store.deed(scribe.org, id).await.unwrap().unwrap();
    assert_eq!(paths(&found.disclosures), all[2..], "what opens it, and nothing else");
    let about = store.deeds_about(scribe.org, begun.id).await.unwrap();
    assert_eq!(about.iter().map(|deed| deed.row.id).collect::<Vec<_>>(), [first.id, id]);
    assert_eq!(about[1], found);
    let filter = DeedFilter { kinds: vec![DeedKind::Amendment], ..DeedFilter::default() };
    let window = Window { places: (0, u64::MAX >> 1), limit: 9 };
    let listed = store.deeds(scribe.org, &filter, window).await.unwrap();
    assert_eq!(listed.iter().map(|row| row.id).collect::<Vec<_>>(), [id]);
    let filter =
        EntryFilter { types: Some(vec![EventType::DeedAmended]), ..EntryFilter::default() };
    let entries = store.entries(scribe.org, &filter, window).await.unwrap();
    let [entry] = &entries[..] else { panic!("{entries:?}") };
    assert_eq!((entry.deed, entry.event.action), (Some(id), Some(begun.id)));

    let pruned = Pruned { actions: vec![begun.id], deeds: vec![first.id, id] };
    scribe.append(store, vec![pruned.into()]).await.unwrap();
    let detail = store.detail(scribe.org, begun.id).await.unwrap().unwrap();
    assert_eq!((detail.disclosures.len(), detail.deeds.len()), (0, 2));
}
