//! Change logs: who follows one, how far it was read, its transactions and gaps.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use decoder::attribution::{Anomaly, Attribution, Forgery, MarkerKind, Tampering};
use evidence::{Began, Following, Gap, Held, KeptFor, Lease, Of, Step, StoredFrame, Written};
use ledger::{
    Changes,
    record::{Action, Connector, ConnectorRef, WitnessWish},
};
use model::{
    ActionId, ConnectorId, LogFrame, LogGap, LogSource, Lsn, OldRows, RowCounts, TableInLog,
    TableName, Timestamp,
};
use serde_json::json;

use super::Store;
use crate::{Scribe, sample};

const LEASE_MS: i64 = 60_000;

pub(super) async fn check(store: &dyn Store) {
    one_holder_reads_a_log_and_the_next_one_goes_on_from_there(store).await;
    a_step_is_kept_whole_under_its_token_or_not_at_all(store).await;
    whatever_a_transaction_is_comes_back_as_it_was(store).await;
    an_action_is_known_with_its_run_and_its_transaction(store).await;
    what_was_kept_long_enough_is_forgotten(store).await;
    a_log_is_listed_as_long_as_it_is_to_be_read_or_its_slot_may_stand(store).await;
}

fn after(now: Timestamp, millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(now.unix_millis() + millis)
}

async fn log(seed: u64, store: &dyn Store) -> (Scribe, Of) {
    let scribe = Scribe::created(seed, store).await;
    let of = Of { org: scribe.org, connector: scribe.mint().id(ConnectorId::from_uuid) };
    (scribe, of)
}

/// The lease, which this holder must get for so long.
async fn hold(
    store: &dyn Store,
    (of, holder): (Of, &str),
    (now, millis): (Timestamp, i64),
) -> (Lease, Option<Following>) {
    match store.hold_log(of, holder, (now, after(now, millis))).await.unwrap() {
        Held::Yes(lease, following) => (lease, following),
        Held::No { until } => panic!("it is another's until {until}"),
    }
}

fn following(scribe: &Scribe, read_to: u64) -> Following {
    let began = Began {
        epoch: 1,
        system: "7301".to_owned(),
        timeline: 1,
        published: crypto::sha256("published"),
        from_xid: 700,
    };
    Following {
        began,
        read_to: Lsn(read_to),
        confirmable: Lsn(read_to),
        broken: None,
        beat_at: Some(scribe.now),
        at: scribe.now,
        makes_slot: false,
    }
}

fn frame(scribe: &Scribe, commit: u64, attribution: Attribution) -> StoredFrame {
    let claimed = match &attribution {
        Attribution::Action { action, .. } => Some(*action),
        _ => None,
    };
    let counts = RowCounts { inserts: 1, updates: 2, deletes: 3, truncates: 4 };
    let table = TableInLog {
        counts,
        signatures: [crypto::sha256("shape")].into(),
        identity: OldRows::Whole,
    };
    StoredFrame {
        attribution,
        claimed,
        xid: u32::MAX,
        committed_at: scribe.now,
        frame: LogFrame {
            source: LogSource {
                epoch: 1,
                system: "7301".to_owned(),
                commit_lsn: Lsn(commit),
                end_lsn: Lsn(commit + 8),
                digest: crypto::sha256("changes"),
            },
            tables: [(TableName::new("public", "Ämter"), table)].into(),
            changes: Vec::new(),
            change_count: 6,
            repeats: 0,
            foreign_markers: 1,
        },
        images: Some(vec![0, 1, 255]),
    }
}

fn own(action: ActionId) -> Attribution {
    Attribution::Action { action, kind: MarkerKind::Act, anomalies: Vec::new() }
}

fn step(scribe: &Scribe, read_to: u64, frames: Vec<StoredFrame>) -> Step {
    Step { following: following(scribe, read_to), frames, gap: None }
}

async fn one_holder_reads_a_log_and_the_next_one_goes_on_from_there(store: &dyn Store) {
    let (scribe, of) = log(901, store).await;
    let now = scribe.now;
    assert_eq!(store.following(of).await.unwrap(), None);
    let (first, position) = hold(store, (of, "one"), (now, LEASE_MS)).await;
    assert_eq!(position, None);
    let Held::No { until } = store.hold_log(of, "two", (now, after(now, LEASE_MS))).await.unwrap()
    else {
        panic!("two hold one log");
    };
    assert!(until > now && until <= after(now, LEASE_MS), "{until}");
    // Another log is nobody's business, and whoever holds one keeps the token.
    let beside = Of { connector: scribe.mint().id(ConnectorId::from_uuid), ..of };
    hold(store, (beside, "two"), (now, LEASE_MS)).await;
    let (again, _) = hold(store, (of, "one"), (now, LEASE_MS)).await;
    assert_eq!(again.token, first.token);
    let read = step(&scribe, 100, Vec::new());
    assert_eq!(store.write(of, first.token, &read).await.unwrap(), Written::Yes);

    // It lets go by a lease that ends now.
    hold(store, (of, "one"), (now, 0)).await;
    let (second, position) = hold(store, (of, "two"), (now, LEASE_MS)).await;
    assert_eq!(second.token, first.token + 1);
    assert_eq!(position.as_ref(), Some(&read.following));
    assert_eq!(store.following(of).await.unwrap(), position);
}

async fn a_step_is_kept_whole_under_its_token_or_not_at_all(store: &dyn Store) {
    let (scribe, of) = log(902, store).await;
    let (lease, _) = hold(store, (of, "one"), (scribe.now, LEASE_MS)).await;
    let first = step(&scribe, 100, vec![frame(&scribe, 50, Attribution::Unattributed)]);
    assert_eq!(store.write(of, lease.token, &first).await.unwrap(), Written::Yes);

    let action = scribe.mint().id(ActionId::from_uuid);
    let gap = |ended, cause| Gap { ended, read_to: Lsn(7), cause, at: scribe.now };
    let frames = vec![frame(&scribe, 150, own(action))];
    let strange = Step { gap: Some(gap(1, LogGap::SlotMoved)), ..step(&scribe, 200, frames) };
    for token in [lease.token + 1, lease.token - 1] {
        assert_eq!(store.write(of, token, &strange).await.unwrap(), Written::Fenced);
    }
    assert_eq!(store.following(of).await.unwrap(), Some(first.following));
    assert_eq!(store.frames_of(of, action).await.unwrap(), []);
    assert_eq!(store.gaps(of, 10).await.unwrap(), []);

    assert_eq!(store.write(of, lease.token, &strange).await.unwrap(), Written::Yes);
    assert_eq!(store.frames_of(of, action).await.unwrap(), strange.frames);
    let own = async |epoch, behind| store.own_frames(of, epoch, Lsn(behind), 10).await.unwrap();
    assert_eq!(own(1, 0).await, [(Lsn(150), action)]);
    assert_eq!((own(1, 150).await, own(2, 0).await), (Vec::new(), Vec::new()));
    let later = Step {
        gap: Some(gap(2, LogGap::EvidenceGap)),
        following: Following { broken: Some(LogGap::EvidenceGap), ..following(&scribe, 200) },
        frames: Vec::new(),
    };
    assert_eq!(store.write(of, lease.token, &later).await.unwrap(), Written::Yes);
    assert_eq!(store.following(of).await.unwrap(), Some(later.following));
    let standing = store.log_standing(of.org, of.connector, 1).await.unwrap().unwrap();
    assert_eq!((standing.stretch, standing.broken), (1, Some(LogGap::EvidenceGap)));
    let causes: Vec<_> = standing.breaks.iter().map(|it| it.cause).collect();
    assert_eq!(causes, [LogGap::EvidenceGap]);
    let (first, last) = (gap(1, LogGap::SlotMoved), gap(2, LogGap::EvidenceGap));
    assert_eq!(store.gaps(of, 10).await.unwrap(), [last.clone(), first]);
    assert_eq!(store.gaps(of, 1).await.unwrap(), [last]);
    let beside = Of { connector: scribe.mint().id(ConnectorId::from_uuid), ..of };
    assert_eq!(store.frames_of(beside, action).await.unwrap(), []);
    assert_eq!(store.gaps(beside, 10).await.unwrap(), []);
}

async fn whatever_a_transaction_is_comes_back_as_it_was(store: &dyn Store) {
    let (scribe, of) = log(903, store).await;
    let (lease, _) = hold(store, (of, "one"), (scribe.now, LEASE_MS)).await;
    let action = scribe.mint().id(ActionId::from_uuid);
    let anomalies = || vec![Anomaly::ForeignMarker];
    let forged = Forgery::ALL.iter().map(|why| Attribution::Forged(*why));
    let tampered = Tampering::ALL.iter().map(|how| Attribution::LedgerTampered(*how));
    let service = MarkerKind::ALL
        .iter()
        .map(|kind| Attribution::Service { kind: *kind, anomalies: anomalies() });
    let own = Attribution::Action { action, kind: MarkerKind::Undo, anomalies: anomalies() };
    let all = forged.chain(tampered).chain(service).chain([Attribution::Unattributed, own]);
    let claiming = (100..).zip(all).map(|(at, attribution)| StoredFrame {
        claimed: Some(action),
        images: (at % 2 == 0).then(|| vec![7; 3]),
        ..frame(&scribe, at * 10, attribution)
    });
    let frames: Vec<_> = claiming.collect();
    let read = step(&scribe, 10_000, frames.clone());
    assert_eq!(store.write(of, lease.token, &read).await.unwrap(), Written::Yes);
    assert_eq!(store.frames_of(of, action).await.unwrap(), frames);
}

async fn an_action_is_known_with_its_run_and_its_transaction(store: &dyn Store) {
    let (mut scribe, of) = log(904, store).await;
    let (lease, _) = hold(store, (of, "one"), (scribe.now, LEASE_MS)).await;
    let (request, _) = sample::request(&json!({}), &scribe.mint());
    let agent = scribe.agent("one");
    let sent = sample::action(&agent, request, &scribe.mint());
    let connector = ConnectorRef {
        id: Some(of.connector),
        name: "shop".to_owned(),
        kind: "postgres".to_owned(),
    };
    let run = Action { connector: Some(connector.clone()), ..sent.clone() };
    let elsewhere = Action { id: scribe.mint().id(ActionId::from_uuid), ..sent.clone() };
    let unrun = Action {
        id: scribe.mint().id(ActionId::from_uuid),
        connector: Some(connector),
        execution: None,
        ..sent
    };
    let known = async |action: &Action| {
        let found = store.known(of, &BTreeSet::from([action.id])).await.unwrap();
        found.get(&action.id).copied()
    };
    assert_eq!(known(&run).await, None);
    let rows = [&run, &elsewhere, &unrun].map(|it| sample::begun(it.clone(), Vec::new()));
    scribe.append(store, rows.to_vec()).await.unwrap();
    assert_eq!(known(&elsewhere).await, None, "it has no connector");
    let strange = scribe.mint().id(ActionId::from_uuid);
    let asked = BTreeSet::from([run.id, elsewhere.id, unrun.id, strange]);
    let found = store.known(of, &asked).await.unwrap();
    assert_eq!(found.keys().copied().collect::<BTreeSet<_>>(), BTreeSet::from([run.id, unrun.id]));
    assert!(!found[&unrun.id].begun);
    let of_run = &found[&run.id];
    assert_eq!((of_run.org, of_run.connector), (of.org, of.connector));
    assert_eq!(of_run.request_digest, run.request_digest);
    assert!(of_run.begun && !of_run.framed);

    // What only passes for it is not its transaction.
    let passing = StoredFrame {
        claimed: Some(run.id),
        ..frame(&scribe, 50, Attribution::Forged(Forgery::OtherRequest))
    };
    let first = step(&scribe, 100, vec![passing]);
    store.write(of, lease.token, &first).await.unwrap();
    assert!(!known(&run).await.unwrap().framed);
    let second = step(&scribe, 200, vec![frame(&scribe, 150, own(run.id))]);
    store.write(of, lease.token, &second).await.unwrap();
    let found = store.known(of, &asked).await.unwrap();
    assert!(found[&run.id].framed && !found[&unrun.id].framed);
}

async fn what_was_kept_long_enough_is_forgotten(store: &dyn Store) {
    let (scribe, of) = log(905, store).await;
    let (lease, _) = hold(store, (of, "one"), (scribe.now, LEASE_MS)).await;
    let mut actions = Vec::new();
    for at in 0..3 {
        let action = scribe.mint().id(ActionId::from_uuid);
        let forged = Attribution::Forged(Forgery::Replayed);
        let passing =
            StoredFrame { claimed: Some(action), ..frame(&scribe, at * 100 + 60, forged) };
        let frames = vec![frame(&scribe, at * 100 + 50, own(action)), passing];
        // When a writer believes that it is moves nothing.
        let read = step(&scribe, at * 100 + 99, frames);
        let at = after(scribe.now, if at == 1 { -1_000_000_000 } else { 1_000_000_000 });
        let read = Step { following: Following { at, ..read.following }, ..read };
        store.write(of, lease.token, &read).await.unwrap();
        actions.push(action);
    }
    let left = async || {
        let mut left = Vec::new();
        for action in &actions {
            let frames = store.frames_of(of, *action).await.unwrap();
            left.push(frames.into_iter().map(|it| it.attribution).collect::<Vec<_>>());
        }
        left
    };
    let (now, long) = (Duration::ZERO, Duration::from_hours(1));
    let beside = Of { connector: scribe.mint().id(ConnectorId::from_uuid), ..of };
    assert_eq!(store.forget(beside, KeptFor { own: now, others: now }, 10).await.unwrap(), 0);
    assert_eq!(store.forget(of, KeptFor { own: long, others: long }, 10).await.unwrap(), 0);
    let others = KeptFor { own: long, others: now };
    for forgotten in [2, 1, 0] {
        assert_eq!(store.forget(of, others, 2).await.unwrap(), forgotten);
    }
    assert_eq!(left().await, [0, 1, 2].map(|it| vec![own(actions[it])]));
    assert_eq!(store.forget(of, KeptFor { own: now, others: long }, 10).await.unwrap(), 3);
    assert_eq!(left().await, [const { Vec::new() }; 3]);
}

async fn a_log_is_listed_as_long_as_it_is_to_be_read_or_its_slot_may_stand(store: &dyn Store) {
    let (mut scribe, stray) = log(906, store).await;
    let plain = sample::connector(scribe.org, "plain", &scribe.mint());
    let (tables, lacking) = (Vec::new(), BTreeMap::new());
    let wish = WitnessWish { since: scribe.now, tables, lacking, anew_behind: None };
    let witness = Some(wish);
    let wanted = Connector {
        witness: witness.clone(),
        ..sample::connector(scribe.org, "wanted", &scribe.mint())
    };
    let archived = Connector {
        witness,
        archived_at: Some(scribe.now),
        ..sample::connector(scribe.org, "archived", &scribe.mint())
    };
    let rows = [&plain, &wanted, &archived].map(|it| Changes::from(it.clone()));
    scribe.append(store, rows.to_vec()).await.unwrap();
    let listed = async || {
        let logs = store.followed_logs().await.unwrap().into_iter();
        logs.filter(|of| of.org == scribe.org).collect::<BTreeSet<_>>()
    };
    let of_wanted = Of { org: scribe.org, connector: wanted.id };
    assert_eq!(listed().await, BTreeSet::from([of_wanted]));
    for (connector, is_wanted) in [(&plain, false), (&wanted, true), (&archived, false)] {
        let of = Of { org: scribe.org, connector: connector.id };
        assert_eq!(store.is_wanted(of).await.unwrap(), is_wanted, "{}", connector.name);
    }
    assert!(!store.is_wanted(stray).await.unwrap());
    let kept = async || store.kept_logs().await.unwrap().contains(&stray);
    let may_stand = async |of: Of| store.slot_may_stand(of.org, of.connector).await.unwrap();
    assert!(!kept().await);
    assert!(!may_stand(stray).await && !may_stand(of_wanted).await, "nobody held them");
    // Whoever held it may have made a slot, though it was never read.
    let (lease, _) = hold(store, (stray, "one"), (scribe.now, LEASE_MS)).await;
    assert_eq!(listed().await, BTreeSet::from([of_wanted, stray]));
    assert!(may_stand(stray).await && !may_stand(of_wanted).await);
    for (broken, makes_slot, is_listed) in [
        (None, false, true),
        (Some(LogGap::SlotInvalidated), false, true),
        (Some(LogGap::DecoderOff), false, false),
        (Some(LogGap::DecoderOff), true, true),
        (Some(LogGap::DecoderOff), false, false),
    ] {
        let following = Following { broken, makes_slot, ..following(&scribe, 100) };
        let read = Step { following, frames: Vec::new(), gap: None };
        assert_eq!(store.write(stray, lease.token, &read).await.unwrap(), Written::Yes);
        assert_eq!(listed().await.contains(&stray), is_listed, "{broken:?}");
        assert_eq!(may_stand(stray).await, is_listed, "{broken:?}");
        assert!(kept().await);
    }
}
