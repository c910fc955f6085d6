//! Logs as they stand: heads, hashes of the tree, rows of deeds, checkpoints.

use std::time::Duration;

use deed::tree::{self, Tree, verify_inclusion};
use ledger::{AppendError, LogNo, Turn};
use model::{Digest, EventType, OrgId};
use records::{
    By, DeedFilter, DeedRow, EntryFilter, LogStore, OrgLog, SignedCheckpoint, Span, Standing,
    Stray, Window, compare,
};
use serde_json::json;

use super::Store;
use crate::{Draft, Scribe};

const DEEDS: u64 = 600;

pub(super) async fn check(store: &dyn Store) {
    let mut scribe = Scribe::created(700, store).await;
    let mut digests = Vec::new();
    for _ in 0..3 {
        let deeds = (0..DEEDS / 3).map(|_| scribe.deed(None)).collect();
        let turn = scribe.append(store, Draft { deeds, ..Draft::default() }).await.unwrap();
        digests.extend(turn.deeds.iter().map(|deed| deed.sealed.digest));
    }
    let head = store.head(scribe.org).await.unwrap().unwrap();
    assert_eq!(head.chain.size(), DEEDS);
    assert_eq!(head.chain.root(), Tree::of(digests.iter().copied()).root_at(DEEDS).unwrap());
    let logs = store.logs().await.unwrap();
    let mine = logs.of(scribe.org).unwrap();
    assert_eq!((mine.len(), mine[0].size, &mine[0].log), (1, DEEDS, head.chain.log()));

    hashes_are_told_run_by_run(store, &scribe, &digests).await;
    deeds_are_read_by_place(store, &scribe).await;
    for index in [0, 255, 256, 599] {
        let path = records::inclusion(store, first(scribe.org), (index, DEEDS)).await.unwrap();
        let place = usize::try_from(index).unwrap();
        let leaf = tree::leaf_hash(digests[place].as_bytes());
        let tree = tree::TreeHead { size: DEEDS, root: head.chain.root() };
        assert!(verify_inclusion(leaf, index, &path, &tree), "{index}");
    }
    checkpoints_are_kept_once(store, &scribe).await;
    what_does_not_fit_is_told(store, &scribe).await;
    nothing_is_told_of_an_org_that_is_not_there(store).await;
    a_log_that_is_closed_is_read_beside_the_one_that_follows(store, scribe, &digests).await;
}

fn first(org: OrgId) -> OrgLog {
    OrgLog { org, no: LogNo::FIRST }
}

async fn hashes_are_told_run_by_run(store: &dyn LogStore, scribe: &Scribe, digests: &[Digest]) {
    let span = |level, start, count| Span { level, start, count };
    let spans = [span(0, 250, 10), span(1, 0, 2), span(0, 595, 10), span(2, 0, 1), span(0, 0, 1)];
    let found = store.hashes(first(scribe.org), &spans).await.unwrap();
    let tile =
        |range: std::ops::Range<usize>| Tree::of(digests[range].to_vec()).root_at(256).unwrap();
    assert_eq!(found[0], digests[250..260]);
    assert_eq!(found[1], [tile(0..256), tile(256..512)]);
    assert_eq!(found[2], digests[595..], "as far as they are there");
    assert_eq!(found[3], [], "the tree is not that high");
    assert_eq!(found[4], digests[..1]);
    assert!(store.hashes(first(scribe.org), &[]).await.unwrap().is_empty());
}

async fn deeds_are_read_by_place(store: &dyn LogStore, scribe: &Scribe) {
    let rows = store.rows(first(scribe.org), 590, 5).await.unwrap();
    let places: Vec<_> = rows.iter().map(|row| row.seq).collect();
    assert_eq!(places, [590, 591, 592, 593, 594]);
    for row in &rows {
        assert_eq!(crypto::sha256(&row.body), row.digest);
        assert_eq!(row.kind, "admin");
    }
    assert_eq!(store.rows(first(scribe.org), 598, 5).await.unwrap().len(), 2);
    assert_eq!(store.rows(first(scribe.org), 600, 5).await.unwrap(), []);
}

async fn checkpoints_are_kept_once(store: &dyn LogStore, scribe: &Scribe) {
    assert_eq!(store.last_checkpoint(first(scribe.org)).await.unwrap(), None);
    let signed = |size: u64, note: &str| SignedCheckpoint {
        size,
        root: crypto::sha256(note),
        note: note.to_owned(),
        signed_at: scribe.now,
    };
    for (size, note) in [(7, "seven"), (9, "nine"), (8, "eight"), (9, "nine again")] {
        store.put_checkpoint(first(scribe.org), &signed(size, note)).await.unwrap();
    }
    let last = store.last_checkpoint(first(scribe.org)).await.unwrap();
    assert_eq!(last, Some(signed(9, "nine")), "the first of a size stays");
    let some = store.checkpoints(first(scribe.org), 7..9).await.unwrap();
    assert_eq!(some, [signed(7, "seven"), signed(8, "eight")]);
    assert_eq!(store.checkpoints(first(scribe.org), 10..900).await.unwrap(), []);
}

async fn what_does_not_fit_is_told(store: &dyn LogStore, scribe: &Scribe) {
    assert_eq!(store.misfit(first(scribe.org)).await.unwrap(), None);
    let ahead = SignedCheckpoint {
        size: DEEDS + 1,
        root: crypto::sha256("ahead"),
        note: "ahead".to_owned(),
        signed_at: scribe.now,
    };
    store.put_checkpoint(first(scribe.org), &ahead).await.unwrap();
    let found = store.misfit(first(scribe.org)).await.unwrap().unwrap();
    assert_eq!((found.what, found.place, found.last), (Stray::Checkpoint, DEEDS + 1, DEEDS - 1));
}

async fn nothing_is_told_of_an_org_that_is_not_there(store: &dyn LogStore) {
    let org = Scribe::new(701, model::Timestamp::EPOCH).org;
    assert_eq!(store.head(org).await.unwrap(), None);
    assert_eq!(store.rows(first(org), 0, 5).await.unwrap(), []);
    let spans = [Span { level: 0, start: 0, count: 4 }];
    assert_eq!(store.hashes(first(org), &spans).await.unwrap(), [[]]);
    assert_eq!(store.last_checkpoint(first(org)).await.unwrap(), None);
    assert_eq!(store.misfit(first(org)).await.unwrap(), None);
}

async fn a_log_that_is_closed_is_read_beside_the_one_that_follows(
    store: &dyn Store,
    mut scribe: Scribe,
    digests: &[Digest],
) {
    let org = scribe.org;
    let old = store.head(org).await.unwrap().unwrap();
    let known = deed::Checkpoint::of(&old.chain);
    assert_eq!(store.closed(org).await.unwrap(), []);
    let (stale, deeds) = (scribe.turn(Draft::default()), vec![scribe.deed(None)]);
    let turn = scribe.reopening(Draft { deeds, events: told(&scribe, 0), ..Draft::default() });
    store.append(&turn).await.unwrap();
    scribe.went(&turn);
    assert!(matches!(store.append(&stale).await, Err(AppendError::Lost)), "the old head is gone");
    let expected = Some(turn.head.mark());
    let stale = Turn { expected, id: scribe.turn(Draft::default()).id, ..stale };
    assert!(matches!(store.append(&stale).await, Err(AppendError::Lost)), "so is the old log");
    let base = store.base(org).await.unwrap().0.unwrap();
    assert_eq!((base.head.log_no.get(), base.head.chain.size()), (1, 1));
    // More than one tile, so that both logs have nodes of their own.
    let deeds = (0..300).map(|_| scribe.deed(None)).collect();
    let more = Draft { deeds, events: told(&scribe, 1), ..Draft::default() };
    let turn = scribe.append(store, more).await.unwrap();

    let (closed, open) = (store.closed(org).await.unwrap(), store.head(org).await.unwrap());
    let (closed, open) = (closed.into_iter().next().unwrap(), open.unwrap());
    assert_eq!((closed.no, &closed.chain), (LogNo::FIRST, &old.chain));
    assert!(matches!(closed.standing, Standing::Closed { .. }), "{closed:?}");
    assert_eq!((open.no.get(), open.standing, open.chain.size()), (1, Standing::Open, 301));
    let logs = store.logs().await.unwrap();
    let mine = logs.of(org).unwrap().into_iter().map(|log| (log.of.no.get(), log.size));
    assert_eq!(mine.collect::<Vec<_>>(), [(0, DEEDS), (1, 301)]);

    let next = OrgLog { org, no: open.no };
    let path = records::inclusion(store, next, (280, 301)).await.unwrap();
    let leaf = tree::leaf_hash(turn.deeds[279].sealed.digest.as_bytes());
    let tree = tree::TreeHead { size: 301, root: open.chain.root() };
    assert!(verify_inclusion(leaf, 280, &path, &tree));
    assert_eq!(compare(store, org, &closed, &known).await.unwrap(), None, "the old one stands");
    let span = Span { level: 0, start: 598, count: 9 };
    let hashes = store.hashes(first(org), &[span]).await.unwrap();
    assert_eq!(hashes, [digests[598..].to_vec()], "up to its own end");
    let rows = store.rows(first(org), 599, 9).await.unwrap();
    assert_eq!(rows.iter().map(|row| (row.log_no.get(), row.seq)).collect::<Vec<_>>(), [(0, 599)]);
    assert_eq!(store.misfit(next).await.unwrap(), None, "what is behind the closed one is its own");
    let rows = store.rows(next, 0, 2).await.unwrap();
    assert_eq!(
        rows.iter().map(|row| (row.log_no.get(), row.seq)).collect::<Vec<_>>(),
        [(1, 0), (1, 1)]
    );
    places_go_on_across_logs(store, &scribe, &rows[0]).await;
}

async fn places_go_on_across_logs(store: &dyn Store, scribe: &Scribe, opening: &DeedRow) {
    let (org, all) = (scribe.org, DeedFilter::default());
    let window = Window { places: (0, opening.place().as_u64() + 1), limit: 2 };
    let deeds = store.deeds(org, &all, window).await.unwrap();
    let places: Vec<_> = deeds.iter().map(|row| (row.log_no.get(), row.seq)).collect();
    assert_eq!(places, [(1, 0), (0, DEEDS - 1)], "newest first");
    let last = store.rows(first(org), DEEDS - 1, 1).await.unwrap();
    let cases = [(last[0].issued_at, 0), (scribe.now + Duration::from_millis(1), 1)];
    for (moment, log) in cases {
        assert_eq!(store.place_at(org, moment).await.unwrap().log().get(), log);
    }
    let filter = EntryFilter { types: Some(vec![EventType::DeedSealed]), ..EntryFilter::default() };
    let window = Window { places: (0, u64::MAX), limit: 9 };
    let entries = store.entries(org, &filter, window).await.unwrap();
    let deeds: Vec<_> = entries.iter().map(|entry| entry.deed).collect();
    let row = store.rows(OrgLog { org, no: opening.log_no }, 1, 1).await.unwrap().remove(0);
    assert_eq!(deeds, [Some(row.id), Some(opening.id)], "the events of the new log's deeds");
    let by_actor =
        |id: &str| EntryFilter { actor: Some(By::Other(id.to_owned())), ..filter.clone() };
    for (actor, found) in [("test", 2), ("nobody", 0)] {
        let entries = store.entries(org, &by_actor(actor), window).await.unwrap();
        assert_eq!(entries.len(), found, "by {actor}");
    }
    let next = OrgLog { org, no: opening.log_no };
    let checkpoint = SignedCheckpoint {
        size: 3,
        root: crypto::sha256("three"),
        note: "three".to_owned(),
        signed_at: scribe.now,
    };
    assert_eq!(store.last_checkpoint(next).await.unwrap(), None);
    store.put_checkpoint(next, &checkpoint).await.unwrap();
    assert_eq!(store.last_checkpoint(next).await.unwrap(), Some(checkpoint));
    let before = store.last_checkpoint(first(org)).await.unwrap();
    assert_eq!(before.map(|kept| kept.size), Some(DEEDS + 1), "each log has its own");
}

/// The event of the deed at this place of its log.
fn told(scribe: &Scribe, seq: u64) -> Vec<event::Draft> {
    let object = json!({ "object": "deed", "seq": seq });
    vec![event::Draft { kind: EventType::DeedSealed, object, ..scribe.event(None) }]
}
