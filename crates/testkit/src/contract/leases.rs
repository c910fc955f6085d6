//! What is due, leases and their renewal, idempotency keys by the store's time.

use std::time::Duration;

use gate::{Due, DueFor, HeldLease, Sweep};
use ledger::{
    Changes,
    record::{Action, Lease},
};
use model::{ActionId, DeedId, OrgId};
use serde_json::json;

use super::Store;
use crate::{Scribe, sample};

const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);

pub(super) async fn check(store: &dyn Store) {
    Box::pin(what_is_due_is_found_oldest_first(store)).await;
    what_is_due_is_paged_and_nothing_is_left_out(store).await;
    a_lease_that_was_handed_back_is_due_at_once(store).await;
    only_the_holder_renews_a_lease_and_only_in_time(store).await;
    a_takeover_gives_a_new_lease(store).await;
    an_idempotency_key_names_its_action_until_it_expires(store).await;
}

/// What is due for this org, in order.
async fn due(store: &dyn Store, org: OrgId) -> Vec<(ActionId, DueFor)> {
    let mut all = Vec::new();
    for sweep in Sweep::ALL {
        all.extend(store.due(sweep, None, 1_000).await.unwrap());
    }
    all.sort_by_key(Due::place);
    all.into_iter()
        .filter(|due| due.org == org)
        .map(|Due { action, what, .. }| (action, what))
        .collect()
}

fn begun(action: &Action) -> Changes {
    sample::begun(action.clone(), Vec::new())
}

fn moved(action: &Action) -> Changes {
    sample::moved(action.clone())
}

fn takeover(holder: &str, token: u64) -> DueFor {
    let from = Lease { holder: holder.to_owned(), token };
    DueFor::Takeover { from, connector: "shop".to_owned() }
}

/// A new action of a gateway under a lease.
fn fresh(scribe: &Scribe) -> Action {
    let mint = scribe.mint();
    let (request, _) = sample::request(&json!({}), &mint);
    sample::action(&scribe.agent("due"), request, &mint)
}

async fn what_is_due_is_found_oldest_first(store: &dyn Store) {
    let mut scribe = Scribe::created(700, store).await;
    let now = scribe.now;
    let past = |minutes: u32| now.before(MINUTE * minutes);
    let overdue = sample::authorized(&fresh(&scribe), past(3));
    let in_time = sample::authorized(&fresh(&scribe), now + DAY);
    let expired = sample::waiting(&fresh(&scribe), past(5), &scribe.mint());
    let open = sample::waiting(&fresh(&scribe), now + DAY, &scribe.mint());
    let ended = sample::sealed(&overdue, scribe.mint().id(DeedId::from_uuid));
    let ended = Action { id: fresh(&scribe).id, ..ended };
    let changes: Vec<_> = [&overdue, &in_time, &expired, &open, &ended].map(begun).into();
    scribe.append(store, changes).await.unwrap();
    // A lease is reckoned from the moment of its turn.
    let (lost, held) = (fresh(&scribe), fresh(&scribe));
    scribe.append(store, vec![begun(&held)]).await.unwrap();
    let mut late = scribe.turn(vec![begun(&lost)]);
    late.at = past(4);
    store.append(&late).await.unwrap();
    scribe.went(&late);
    let expected = [
        (expired.id, DueFor::ApprovalExpiry),
        (lost.id, takeover("one", 1)),
        (overdue.id, DueFor::EdgeDeadline),
    ];
    assert_eq!(due(store, scribe.org).await, expected);
    assert_eq!(store.due(Sweep::Reports, None, 1).await.unwrap().len(), 1);
    assert!(store.due(Sweep::Reports, None, 0).await.unwrap().is_empty());
    // What has ended is due no more.
    let deed = || scribe.mint().id(DeedId::from_uuid);
    let ended = [
        sample::sealed(&overdue, deed()),
        sample::denied(&Action { approval: None, ..expired }, deed()),
        sample::sealed(&lost, deed()),
    ];
    scribe.append(store, ended.iter().map(moved).collect::<Vec<_>>()).await.unwrap();
    assert!(due(store, scribe.org).await.is_empty());
}

async fn what_is_due_is_paged_and_nothing_is_left_out(store: &dyn Store) {
    let mut scribe = Scribe::created(708, store).await;
    let now = scribe.now;
    // Many are due since the same moment, and of every kind.
    let overdue = (0..7).map(|_| sample::authorized(&fresh(&scribe), now.before(MINUTE)));
    let expired = (0..7)
        .map(|at| sample::waiting(&fresh(&scribe), now.before(MINUTE * (at % 3)), &scribe.mint()));
    let due: Vec<Action> = overdue.chain(expired).collect();
    scribe.append(store, due.iter().map(begun).collect::<Vec<_>>()).await.unwrap();
    for sweep in [Sweep::Reports, Sweep::Approvals] {
        let whole = store.due(sweep, None, 1_000).await.unwrap();
        let (mut paged, mut after) = (Vec::new(), None);
        loop {
            let page = store.due(sweep, after, 3).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.place());
            paged.extend(page);
        }
        assert_eq!(paged, whole);
        assert!(paged.is_sorted_by_key(Due::place));
        let own = paged.iter().filter(|found| found.org == scribe.org).count();
        assert_eq!(own, due.len() / 2);
    }
}

async fn a_lease_that_was_handed_back_is_due_at_once(store: &dyn Store) {
    let mut scribe = Scribe::created(709, store).await;
    let (own, other) = (fresh(&scribe), fresh(&scribe));
    scribe.append(store, vec![begun(&own), begun(&other)]).await.unwrap();
    let held = |action: &Action, token| HeldLease {
        org: scribe.org,
        action: action.id,
        lease: Lease { holder: "one".to_owned(), token },
    };
    // A lease that is somebody else's by now is not given away.
    store.hand_back(&[held(&own, 1), held(&other, 7)]).await.unwrap();
    store.hand_back(&[]).await.unwrap();
    assert_eq!(due(store, scribe.org).await, [(own.id, takeover("one", 1))]);
    let over = store.renew(&[held(&own, 1)]).await.unwrap();
    assert_eq!((over.renewed, over.lost), (vec![], vec![held(&own, 1)]), "it is over");
    assert_eq!(store.renew(&[held(&other, 1)]).await.unwrap().renewed, [held(&other, 1)]);
}

async fn only_the_holder_renews_a_lease_and_only_in_time(store: &dyn Store) {
    let mut scribe = Scribe::created(701, store).await;
    let (live, lost, unleased) = (fresh(&scribe), fresh(&scribe), fresh(&scribe));
    let unleased = sample::authorized(&unleased, scribe.now + DAY);
    scribe.append(store, vec![begun(&live), begun(&unleased)]).await.unwrap();
    let mut late = scribe.turn(vec![begun(&lost)]);
    late.at = scribe.now.before(MINUTE);
    store.append(&late).await.unwrap();
    scribe.went(&late);
    let org = scribe.org;
    let held = |action: &Action, holder: &str, token| HeldLease {
        org,
        action: action.id,
        lease: Lease { holder: holder.to_owned(), token },
    };
    let (own, ended) = (held(&live, "one", 1), fresh(&scribe));
    let sealed = sample::sealed(&ended, scribe.mint().id(model::DeedId::from_uuid));
    scribe.append(store, vec![begun(&sealed)]).await.unwrap();
    let elsewhere = HeldLease { org: Scribe::created(702, store).await.org, ..own.clone() };
    let all = [
        held(&lost, "one", 1),
        held(&live, "two", 1),
        held(&live, "one", 2),
        held(&unleased, "one", 1),
        held(&ended, "one", 1),
        held(&fresh(&scribe), "one", 1),
        elsewhere,
        own.clone(),
    ];
    // Only of what is not at its end a lease can be lost.
    let mut renewal = store.renew(&all).await.unwrap();
    renewal.lost.sort_by(|a, b| (a.action, &a.lease.holder).cmp(&(b.action, &b.lease.holder)));
    let mut gone = all[..3].to_vec();
    gone.sort_by(|a, b| (a.action, &a.lease.holder).cmp(&(b.action, &b.lease.holder)));
    assert_eq!((renewal.renewed, renewal.lost), (vec![own], gone));
    assert_eq!(store.renew(&[]).await.unwrap(), gate::Renewal::default());
    assert_eq!(due(store, scribe.org).await, [(lost.id, takeover("one", 1))]);
}

async fn a_takeover_gives_a_new_lease(store: &dyn Store) {
    let mut scribe = Scribe::created(703, store).await;
    let action = fresh(&scribe);
    let mut late = scribe.turn(vec![begun(&action)]);
    late.at = scribe.now.before(MINUTE);
    store.append(&late).await.unwrap();
    scribe.went(&late);
    assert_eq!(due(store, scribe.org).await, [(action.id, takeover("one", 1))]);
    let lease = Lease { holder: "two".to_owned(), token: 2 };
    let taken = Action { lease: Some(lease.clone()), ..action.clone() };
    scribe.append(store, vec![moved(&taken)]).await.unwrap();
    assert!(due(store, scribe.org).await.is_empty());
    let held = |lease| HeldLease { org: scribe.org, action: action.id, lease };
    let old = held(Lease { holder: "one".to_owned(), token: 1 });
    let renewal = store.renew(&[old.clone(), held(lease.clone())]).await.unwrap();
    assert_eq!((renewal.renewed, renewal.lost), (vec![held(lease)], vec![old]));
}

async fn an_idempotency_key_names_its_action_until_it_expires(store: &dyn Store) {
    let mut scribe = Scribe::created(704, store).await;
    let action = fresh(&scribe);
    let live = sample::idempotency_key(&action, "live", scribe.now + DAY);
    let expired = sample::idempotency_key(&action, "expired", scribe.now.before(MINUTE));
    let changes = vec![Changes::from(live.clone()), Changes::from(expired)];
    scribe.append(store, changes).await.unwrap();
    let agent = action.agent.id;
    assert_eq!(store.idempotency_key(scribe.org, agent, "live").await.unwrap(), Some(live));
    assert!(store.idempotency_key(scribe.org, agent, "expired").await.unwrap().is_none());
    assert!(store.idempotency_key(scribe.org, agent, "Live").await.unwrap().is_none());
    let (other, nobody) = (Scribe::created(705, store).await, fresh(&scribe).agent.id);
    assert!(store.idempotency_key(scribe.org, nobody, "live").await.unwrap().is_none());
    assert!(store.idempotency_key(other.org, agent, "live").await.unwrap().is_none());
}
