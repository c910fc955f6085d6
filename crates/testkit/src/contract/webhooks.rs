//! Webhook endpoints, their lanes and deliveries.

use std::time::Duration;

use delivery::{Adding, Claim, Delivery, DeliveryList, Hold, Key, Lane, Try, Waiting};
use ledger::{
    Needs,
    record::{OrgWebhooks, Webhook, WebhookDisabled, WebhookSend},
};
use model::{
    DeliveryError, DeliveryId, DeliveryStatus, EventId, EventType, Mint, Timestamp, WebhookId,
};

use super::Store;
use crate::{Draft, Scribe, SeededEntropy};

const LEASE: Duration = Duration::from_mins(1);
const NEVER: Duration = Duration::from_hours(72);

pub(super) async fn check(store: &dyn Store) {
    endpoints_are_kept_in_their_last_form_and_in_their_own_org(store).await;
    a_lane_begins_behind_what_happened_and_is_closed_with_its_endpoint(store).await;
    one_claim_counts_and_writes_all_or_nothing(store).await;
    deliveries_are_found_by_their_endpoint_and_when_they_are_due(store).await;
    deliveries_are_counted_by_time_and_status(store).await;
    what_waits_in_a_closed_lane_is_dropped(store).await;
    a_claim_from_before_a_lane_was_opened_has_ended(store).await;
    what_is_missed_is_added_once_however_many_ask(store).await;
    what_waits_for_a_retry_becomes_due(store).await;
    an_endpoint_that_failed_for_long_waits_once_two_events_failed(store).await;
    no_org_waits_behind_the_second_endpoint_of_another(store).await;
}

fn webhook(scribe: &Scribe) -> Webhook {
    Webhook {
        id: scribe.mint().id(WebhookId::from_uuid),
        org: scribe.org,
        url: "https://hooks.example.com".to_owned(),
        url_since: None,
        description: "Ämter".to_owned(),
        types: vec!["action.*".to_owned()],
        agent: None,
        api_version: "2026-10-01".to_owned(),
        disabled: None,
        secret: "c2VhbGVk".to_owned(),
        previous_secret: None,
        revision: 1,
        created_at: scribe.now,
        deleted_at: None,
    }
}

fn all(scribe: &Scribe, endpoints: &[&Webhook]) -> OrgWebhooks {
    OrgWebhooks { org: scribe.org, endpoints: endpoints.iter().map(|it| (*it).clone()).collect() }
}

async fn made(scribe: &mut Scribe, store: &dyn Store) -> (Webhook, Key) {
    let webhook = webhook(scribe);
    let row = all(scribe, &[&webhook]);
    scribe.append(store, vec![row.into()]).await.unwrap();
    let key = (scribe.org, webhook.id);
    (webhook, key)
}

async fn happen(scribe: &mut Scribe, store: &dyn Store, count: usize) {
    let events = (0..count).map(|_| scribe.event(None)).collect();
    scribe.append(store, Draft { events, ..Draft::default() }).await.unwrap();
}

fn delivery(scribe: &Scribe, key: Key, (seq, status): (u64, DeliveryStatus)) -> Delivery {
    let is_open = matches!(status, DeliveryStatus::Pending | DeliveryStatus::Retrying);
    Delivery {
        id: scribe.mint().id(DeliveryId::from_uuid),
        webhook: key.1,
        seq,
        event: scribe.mint().id(EventId::from_uuid),
        kind: EventType::OrgUpdated,
        status,
        tries: vec![Try {
            at: scribe.now,
            http_status: Some(500),
            error_class: Some(DeliveryError::HttpStatus),
            duration_ms: 12,
        }],
        next_at: is_open.then_some(scribe.now.before(Duration::from_secs(1))),
        created_at: scribe.now,
    }
}

async fn claim(store: &dyn Store, key: Key) -> Claim {
    store.claim(key, LEASE).await.unwrap().unwrap()
}

async fn waits(store: &dyn Store, key: Key, failing: bool) -> bool {
    store.waiting_endpoints((failing, NEVER), 1_000).await.unwrap().contains(&key)
}

async fn endpoints_are_kept_in_their_last_form_and_in_their_own_org(store: &dyn Store) {
    let mut scribe = Scribe::created(1_200, store).await;
    let other = Scribe::created(1_201, store).await;
    let (first, second) = (webhook(&scribe), webhook(&scribe));
    let row = all(&scribe, &[&first, &second]);
    scribe.append(store, vec![row.into()]).await.unwrap();
    let last = Webhook { revision: 7, url: "https://x.example.com".to_owned(), ..first.clone() };
    let gone = Webhook { deleted_at: Some(scribe.now), ..second.clone() };
    let row = all(&scribe, &[&last, &gone]);
    scribe.append(store, vec![row.into()]).await.unwrap();
    let needs = |org| Needs { webhooks: [org].into(), ..Needs::default() };
    let loaded = store.load(scribe.org, &needs(scribe.org)).await.unwrap().webhooks;
    assert_eq!(loaded, [all(&scribe, &[&last])]);
    assert!(store.load(other.org, &needs(other.org)).await.unwrap().webhooks.is_empty());
    assert_eq!(store.webhooks(scribe.org).await.unwrap(), [last]);
    assert!(store.webhooks(other.org).await.unwrap().is_empty());
}

async fn a_lane_begins_behind_what_happened_and_is_closed_with_its_endpoint(store: &dyn Store) {
    let mut scribe = Scribe::created(1_202, store).await;
    happen(&mut scribe, store, 3).await;
    let (webhook, key) = made(&mut scribe, store).await;
    assert!(!waits(store, key, false).await, "nothing happened since");
    assert!(store.has_open_lanes().await.unwrap(), "it is open all the same");
    happen(&mut scribe, store, 2).await;
    assert!(waits(store, key, false).await);
    assert!(!waits(store, key, true).await, "it does not fail");
    let state = store.lanes(scribe.org).await.unwrap()[&webhook.id];
    assert_eq!((state.lane, state.behind), (Lane { seq: 3, ..Lane::default() }, 2));
    let disabled = Some(WebhookDisabled { at: scribe.now, is_failed: true });
    let row = all(&scribe, &[&Webhook { disabled, ..webhook.clone() }]);
    scribe.append(store, vec![row.into()]).await.unwrap();
    assert!(!waits(store, key, false).await);
    assert_eq!(store.claim(key, LEASE).await.unwrap(), None);
    // Enabled again, it goes on from then.
    let row = all(&scribe, &[&webhook]);
    scribe.append(store, vec![row.into()]).await.unwrap();
    assert_eq!(claim(store, key).await.lane.seq, 5);
}

async fn one_claim_counts_and_writes_all_or_nothing(store: &dyn Store) {
    let mut scribe = Scribe::created(1_203, store).await;
    let (webhook, key) = made(&mut scribe, store).await;
    happen(&mut scribe, store, 2).await;
    let first = claim(store, key).await;
    assert_eq!((&first.webhook, first.is_due), (&webhook, false));
    assert_eq!(store.claim(key, LEASE).await.unwrap(), None, "it is held");
    assert!(!waits(store, key, false).await);
    let failing = Some(scribe.now);
    let lane = Lane {
        seq: 1,
        failing_since: failing,
        failed_at: failing,
        delivered_at: None,
        failed_events: [Some(1), None],
    };
    let retrying = delivery(&scribe, key, (1, DeliveryStatus::Retrying));
    let noted =
        store.note((key, first.token), (&lane, std::slice::from_ref(&retrying)), Hold::LetGo).await;
    assert!(noted.unwrap().unwrap().is_due);
    assert!(waits(store, key, true).await, "it fails");
    let second = claim(store, key).await;
    assert_eq!((second.lane, second.is_due), (lane, true));
    assert_eq!(store.due_deliveries(key, 9).await.unwrap(), std::slice::from_ref(&retrying));
    // What the claim before would write is nothing.
    let other = delivery(&scribe, key, (2, DeliveryStatus::Delivered));
    let further = Lane { seq: 2, ..Lane::default() };
    let others = std::slice::from_ref(&other);
    let lost = store.note((key, first.token), (&further, others), Hold::LetGo).await;
    assert_eq!(lost.unwrap(), None);
    assert_eq!(store.delivery(scribe.org, other.id).await.unwrap(), None);
    let done = Delivery { status: DeliveryStatus::Delivered, next_at: None, ..retrying };
    let taken = Lane { seq: 2, delivered_at: Some(scribe.now), ..Lane::default() };
    let changed = Webhook { revision: 2, ..webhook.clone() };
    let row = all(&scribe, &[&changed]);
    scribe.append(store, vec![row.into()]).await.unwrap();
    let noted =
        store.note((key, second.token), (&taken, &[done.clone(), other]), Hold::For(LEASE)).await;
    let noted = noted.unwrap().unwrap();
    assert_eq!((noted.is_due, noted.webhook), (false, changed), "as the endpoint stands by now");
    assert_eq!(store.claim(key, LEASE).await.unwrap(), None, "it is held on");
    assert_eq!(store.delivery(scribe.org, done.id).await.unwrap(), Some(done));
    assert_eq!(store.lanes(scribe.org).await.unwrap()[&webhook.id].lane, taken);
}

async fn deliveries_are_found_by_their_endpoint_and_when_they_are_due(store: &dyn Store) {
    let mut scribe = Scribe::created(1_204, store).await;
    let stranger = Scribe::created(1_205, store).await;
    let (webhook, key) = made(&mut scribe, store).await;
    let event = scribe.event(None);
    let id = scribe.mint().id(DeliveryId::from_uuid);
    let send = WebhookSend { id, webhook: webhook.id, event: event.id };
    let draft = Draft { changes: send.into(), events: vec![event], ..Draft::default() };
    scribe.append(store, draft).await.unwrap();
    let found = store.delivery(scribe.org, id).await.unwrap().unwrap();
    assert_eq!((found.seq, found.status, found.tries.len()), (1, DeliveryStatus::Pending, 0));
    assert_eq!(store.delivery(stranger.org, id).await.unwrap(), None);
    assert!(claim(store, key).await.is_due);
    let added: Vec<_> = [DeliveryStatus::Pending, DeliveryStatus::Retrying]
        .into_iter()
        .zip(5..)
        .map(|(status, seq)| delivery(&scribe, key, (seq, status)))
        .collect();
    assert_eq!(store.add(key, &added, Adding::All).await.unwrap(), Some(2));
    let nobody = (scribe.org, scribe.mint().id(WebhookId::from_uuid));
    for adding in [Adding::All, Adding::Missed] {
        assert_eq!(store.add(nobody, &added, adding).await.unwrap(), None);
    }
    let due = store.due_deliveries(key, 9).await.unwrap();
    assert_eq!(due[..2], added);
    assert_eq!(due.len(), 3);
    let mut newest: Vec<_> = due.iter().map(|it| it.id).collect();
    newest.sort_by(|one, other| other.cmp(one));
    let list = async |asked: DeliveryList, limit| {
        let found = store.deliveries(key, asked, limit).await.unwrap();
        found.into_iter().map(|it| it.id).collect::<Vec<_>>()
    };
    assert_eq!(list(DeliveryList::default(), 2).await, newest[..2]);
    let rest = DeliveryList { after: Some(newest[1]), ..DeliveryList::default() };
    assert_eq!(list(rest, 9).await, newest[2..]);
    let retrying = DeliveryList { status: Some(DeliveryStatus::Retrying), after: None };
    assert_eq!(list(retrying, 9).await, [added[1].id]);
    let count = async |since: Timestamp| {
        store.count_since(key, EventType::OrgUpdated, since).await.unwrap()
    };
    assert_eq!(count(scribe.now).await, 3);
    assert_eq!(count(scribe.now + Duration::from_mins(1)).await, 0);
}

async fn no_org_waits_behind_the_second_endpoint_of_another(store: &dyn Store) {
    let mut many = Scribe::created(1_207, store).await;
    let mut one = Scribe::created(1_208, store).await;
    let (first, second, third) = (webhook(&many), webhook(&many), webhook(&many));
    let row = all(&many, &[&first, &second, &third]);
    many.append(store, vec![row.into()]).await.unwrap();
    let (_, alone) = made(&mut one, store).await;
    happen(&mut many, store, 1).await;
    happen(&mut one, store, 1).await;
    // The last of them was served a moment ago, and the one of the other org as well.
    for key in [(many.org, third.id), alone] {
        let claim = claim(store, key).await;
        let noted = store.note((key, claim.token), (&claim.lane, &[]), Hold::LetGo).await;
        noted.unwrap().unwrap();
    }
    let found = store.waiting_endpoints((false, NEVER), 1_000).await.unwrap();
    let ours = found.into_iter().filter(|(org, _)| [many.org, one.org].contains(org));
    let ours: Vec<_> = ours.collect();
    assert_eq!(ours.len(), 4);
    let at = ours.iter().position(|key| *key == alone).unwrap();
    assert!(at < 2, "behind the first of the other org at most");
    assert_eq!(ours[3], (many.org, third.id), "that was served last");
}

async fn deliveries_are_counted_by_time_and_status(store: &dyn Store) {
    use DeliveryStatus::{Dead, Delivered, Dropped, Pending, Retrying};
    const STEP: Duration = Duration::from_hours(1);
    let mut scribe = Scribe::created(1_212, store).await;
    let (webhook, key) = made(&mut scribe, store).await;
    let (_, other) = made(&mut scribe, store).await;
    let dice = SeededEntropy::new(1_212);
    let millis = scribe.now.unix_millis();
    let start = Timestamp::from_unix_millis(millis - millis % 3_600_000);
    let began = |key: Key, after: Duration, status| {
        let created_at = start + after;
        let id = Mint::new(created_at, &dice).id(DeliveryId::from_uuid);
        Delivery { id, created_at, ..delivery(&scribe, key, (1, status)) }
    };
    let last = Duration::from_millis(3_599_999);
    let all = [
        began(key, Duration::ZERO, Delivered),
        began(key, last, Delivered),
        began(key, last, Dead),
        began(key, STEP, Retrying),
        began(key, STEP, Dropped),
        began(key, STEP * 3, Pending),
        began(key, STEP * 4, Retrying),
    ];
    let claimed = claim(store, key).await;
    store.note((key, claimed.token), (&Lane::default(), &all), Hold::LetGo).await.unwrap().unwrap();
    let foreign = claim(store, other).await;
    let rows = [began(other, STEP, Dead)];
    store
        .note((other, foreign.token), (&Lane::default(), &rows), Hold::LetGo)
        .await
        .unwrap()
        .unwrap();

    let mut tallies = store.tallies(key, (start, start + STEP * 4), STEP).await.unwrap();
    tallies.sort_by_key(|tally| (tally.at, tally.status));
    let mut expected = vec![
        (start, Delivered, 2),
        (start, Dead, 1),
        (start + STEP, Retrying, 1),
        (start + STEP, Dropped, 1),
        (start + STEP * 3, Pending, 1),
    ];
    expected.sort_unstable();
    let found: Vec<_> = tallies.iter().map(|it| (it.at, it.status, it.count)).collect();
    assert_eq!(found, expected);
    let counts = store.not_delivered(key).await.unwrap();
    assert_eq!(counts, [(Pending, 1), (Retrying, 2), (Dead, 1), (Dropped, 1)].into());
    for &status in DeliveryStatus::ALL {
        let asked = DeliveryList { status: Some(status), after: None };
        let found = store.deliveries(key, asked, 10).await.unwrap();
        assert!(found.is_sorted_by(|one, next| one.id > next.id), "{status}");
        assert_eq!(found.len(), all.iter().filter(|it| it.status == status).count(), "{status}");
        assert!(found.iter().all(|it| it.webhook == webhook.id), "{status}");
        let after = found.first().map(|it| it.id);
        let rest = store.deliveries(key, DeliveryList { after, ..asked }, 10).await.unwrap();
        assert_eq!(rest.as_slice(), found.get(1..).unwrap_or_default(), "{status}");
    }
}

async fn what_waits_in_a_closed_lane_is_dropped(store: &dyn Store) {
    let mut scribe = Scribe::created(1_206, store).await;
    let (webhook, key) = made(&mut scribe, store).await;
    let waiting = delivery(&scribe, key, (1, DeliveryStatus::Retrying));
    let added = async |store: &dyn Store| {
        store.add(key, std::slice::from_ref(&waiting), Adding::All).await.unwrap()
    };
    assert_eq!(added(store).await, Some(1));
    let row = all(&scribe, &[&Webhook { deleted_at: Some(scribe.now), ..webhook }]);
    scribe.append(store, vec![row.into()]).await.unwrap();
    assert_eq!(added(store).await, None);
    store.sweep_deliveries(NEVER, 100).await.unwrap();
    let dropped = store.delivery(scribe.org, waiting.id).await.unwrap().unwrap();
    assert_eq!((dropped.status, dropped.next_at), (DeliveryStatus::Dropped, None));
    store.sweep_deliveries(Duration::ZERO, 100).await.unwrap();
}

async fn a_claim_from_before_a_lane_was_opened_has_ended(store: &dyn Store) {
    let mut scribe = Scribe::created(1_209, store).await;
    let (webhook, key) = made(&mut scribe, store).await;
    happen(&mut scribe, store, 2).await;
    let before = claim(store, key).await;
    let rows = [1, 1, 1, 2, 3].map(|seq| delivery(&scribe, key, (seq, DeliveryStatus::Delivered)));
    let failing_since = Some(scribe.now);
    // Whether the claim holds, and whether what was tried is written.
    let noted = async |row: &Delivery| {
        let failed_events = [Some(row.seq), None];
        let lane = Lane { seq: row.seq, failing_since, failed_events, ..before.lane };
        let noted = ((key, before.token), (&lane, std::slice::from_ref(row)));
        let holds = store.note(noted.0, noted.1, Hold::For(LEASE)).await.unwrap().is_some();
        (holds, store.delivery(key.0, row.id).await.unwrap().is_some())
    };
    assert_eq!(noted(&rows[0]).await, (true, true));
    let state = async || store.lanes(key.0).await.unwrap()[&webhook.id];
    assert_eq!(state().await.lane.failed_events, [Some(1), None]);
    let disabled = Some(WebhookDisabled { at: scribe.now, is_failed: false });
    let closed = all(&scribe, &[&Webhook { disabled, ..webhook.clone() }]);
    let opened = all(&scribe, &[&webhook]);
    scribe.append(store, vec![closed.into()]).await.unwrap();
    scribe.append(store, vec![opened.into()]).await.unwrap();
    assert!(state().await.is_ending, "whoever served it before may still post");
    assert_eq!(store.claim(key, LEASE).await.unwrap(), None);
    assert_eq!(noted(&rows[1]).await, (false, true));
    assert!(!state().await.is_ending, "that claim ended with its note");
    let closed = all(&scribe, &[&Webhook { disabled, ..webhook.clone() }]);
    scribe.append(store, vec![closed.into()]).await.unwrap();
    assert_eq!(noted(&rows[2]).await, (false, true), "it is closed");
    let opened = all(&scribe, &[&webhook]);
    scribe.append(store, vec![opened.into()]).await.unwrap();
    let lane = state().await.lane;
    assert_eq!((lane.seq, lane.failing_since, lane.failed_events), (2, None, [None; 2]));
    // What it posted behind the place of the opened lane is not posted again.
    assert_eq!(noted(&rows[4]).await, (false, true));
    let lane = state().await.lane;
    assert_eq!((lane.seq, lane.failing_since, lane.failed_events), (3, None, [None; 2]));
    let after = claim(store, key).await;
    assert_eq!((after.lane.seq, after.token), (3, before.token + 1));
    assert_eq!(noted(&rows[3]).await, (false, false), "there is a later claim");
}

async fn what_is_missed_is_added_once_however_many_ask(store: &dyn Store) {
    let mut scribe = Scribe::created(1_210, store).await;
    let (_, key) = made(&mut scribe, store).await;
    let statuses = [
        DeliveryStatus::Delivered,
        DeliveryStatus::Retrying,
        DeliveryStatus::Dead,
        DeliveryStatus::Dropped,
    ];
    let known: Vec<_> = statuses.into_iter().zip(1..).map(|(status, seq)| (seq, status)).collect();
    let claimed = claim(store, key).await;
    let rows: Vec<_> = known.iter().map(|one| delivery(&scribe, key, *one)).collect();
    let noted = store.note((key, claimed.token), (&claimed.lane, &rows), Hold::LetGo).await;
    noted.unwrap().unwrap();
    let missed = || {
        let seqs = 1..=6;
        let pending = seqs.map(|seq| delivery(&scribe, key, (seq, DeliveryStatus::Pending)));
        pending.collect::<Vec<_>>()
    };
    let all: Vec<_> = (0..8).map(|_| missed()).collect();
    let adding = all.iter().map(|one| store.add(key, one, Adding::Missed));
    let added = futures_util::future::join_all(adding).await;
    // The dead, the dropped and the two that nobody knows of.
    assert_eq!(added.into_iter().map(|it| it.unwrap().unwrap()).sum::<usize>(), 4);
    assert_eq!(store.add(key, &missed(), Adding::Missed).await.unwrap(), Some(0));
    assert_eq!(store.add(key, &missed(), Adding::All).await.unwrap(), Some(6));
}

async fn what_waits_for_a_retry_becomes_due(store: &dyn Store) {
    let mut scribe = Scribe::created(1_213, store).await;
    let (webhook, key) = made(&mut scribe, store).await;
    let claimed = claim(store, key).await;
    let later = Some(scribe.now + Duration::from_hours(1));
    let waits = |seq, attempts| {
        let one = delivery(&scribe, key, (seq, DeliveryStatus::Retrying));
        let tries = vec![one.tries[0]; attempts];
        Delivery { next_at: later, tries, ..one }
    };
    // Two of one event, one that had its last attempt, one of an event that was accepted, and two more.
    let rows = [waits(1, 1), waits(1, 2), waits(2, 3), waits(3, 1), waits(4, 2), waits(5, 1)];
    let accepted = delivery(&scribe, key, (3, DeliveryStatus::Delivered));
    let all: Vec<_> = rows.iter().cloned().chain([accepted]).collect();
    let noted = store.note((key, claimed.token), (&claimed.lane, &all), Hold::LetGo).await;
    assert!(!noted.unwrap().unwrap().is_due);
    let now = (scribe.now.before(Duration::from_secs(1)), 3);
    let hasten = async |waiting: Waiting<'_>| store.hasten(key, waiting, now).await.unwrap();
    let due = async || {
        let mut due: Vec<_> =
            store.due_deliveries(key, 9).await.unwrap().into_iter().map(|it| it.id).collect();
        due.sort_unstable();
        due
    };
    assert_eq!(hasten(Waiting::Delivery(rows[1].id)).await, Some(1));
    assert_eq!(due().await, [rows[1].id], "and no other of the same event");
    // The lane has something to do. What is due already is not counted again.
    assert!(claim(store, key).await.is_due);
    assert_eq!(hasten(Waiting::Delivery(rows[1].id)).await, Some(0));
    assert_eq!(hasten(Waiting::Delivery(rows[2].id)).await, Some(0), "it waits to be reported");
    assert_eq!(hasten(Waiting::Events(&[2, 3, 4, 9])).await, Some(1));
    let mut expected = [rows[1].id, rows[4].id];
    expected.sort_unstable();
    assert_eq!(due().await, expected);
    assert_eq!(hasten(Waiting::Delivery(rows[3].id)).await, Some(1), "it was named");
    let stranger = (scribe.org, scribe.mint().id(WebhookId::from_uuid));
    let waiting = Waiting::Delivery(rows[5].id);
    assert_eq!(store.hasten(stranger, waiting, now).await.unwrap(), None);
    let row = self::all(&scribe, &[&Webhook { deleted_at: Some(scribe.now), ..webhook }]);
    scribe.append(store, vec![row.into()]).await.unwrap();
    assert_eq!(hasten(waiting).await, None, "its lane is closed");
    let kept = store.delivery(key.0, rows[5].id).await.unwrap().unwrap();
    assert_eq!(kept.next_at, later);
}

async fn an_endpoint_that_failed_for_long_waits_once_two_events_failed(store: &dyn Store) {
    let mut scribe = Scribe::created(1_211, store).await;
    let (_, key) = made(&mut scribe, store).await;
    for (failed_events, is_waiting) in
        [([None; 2], false), ([Some(1), None], false), ([Some(1), Some(2)], true)]
    {
        let claimed = claim(store, key).await;
        let failing_since = Some(scribe.now.before(NEVER));
        let lane =
            Lane { failing_since, failed_at: Some(scribe.now), failed_events, ..claimed.lane };
        let noted = store.note((key, claimed.token), (&lane, &[]), Hold::LetGo).await;
        noted.unwrap().unwrap();
        assert_eq!(waits(store, key, true).await, is_waiting, "{failed_events:?}");
    }
}
