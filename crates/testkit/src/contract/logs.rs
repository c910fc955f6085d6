//! Logs as they stand: heads, hashes of the tree, rows of deeds, checkpoints.

use deed::tree::{self, Tree, verify_inclusion};
use records::{LogStore, SignedCheckpoint, Span, Stray};

use super::Store;
use crate::{Draft, Scribe};

const DEEDS: u64 = 600;

pub(super) async fn check(store: &dyn Store) {
    let mut scribe = Scribe::founded(700, store).await;
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
    let mine: Vec<_> = logs.iter().filter(|log| log.org == scribe.org).collect();
    assert_eq!((mine.len(), mine[0].size, &mine[0].log), (1, DEEDS, head.chain.log()));

    hashes_are_told_run_by_run(store, &scribe, &digests).await;
    deeds_are_read_by_place(store, &scribe).await;
    for index in [0, 255, 256, 599] {
        let path = records::inclusion(store, scribe.org, (index, DEEDS)).await.unwrap();
        let place = usize::try_from(index).unwrap();
        let leaf = tree::leaf_hash(digests[place].as_bytes());
        let tree = tree::TreeHead { size: DEEDS, root: head.chain.root() };
        assert!(verify_inclusion(leaf, index, &path, &tree), "{index}");
    }
    checkpoints_are_kept_once(store, &scribe).await;
    what_does_not_fit_is_told(store, &scribe).await;
    nothing_is_told_of_an_org_that_is_not_there(store).await;
}

async fn hashes_are_told_run_by_run(
    store: &dyn LogStore,
    scribe: &Scribe,
    digests: &[model::Digest],
) {
    let span = |level, start, count| Span { level, start, count };
    let spans = [span(0, 250, 10), span(1, 0, 2), span(0, 595, 10), span(2, 0, 1), span(0, 0, 1)];
    let found = store.hashes(scribe.org, &spans).await.unwrap();
    let tile =
        |range: std::ops::Range<usize>| Tree::of(digests[range].to_vec()).root_at(256).unwrap();
    assert_eq!(found[0], digests[250..260]);
    assert_eq!(found[1], [tile(0..256), tile(256..512)]);
    assert_eq!(found[2], digests[595..], "as far as they are there");
    assert_eq!(found[3], [], "the tree is not that high");
    assert_eq!(found[4], digests[..1]);
    assert!(store.hashes(scribe.org, &[]).await.unwrap().is_empty());
}

async fn deeds_are_read_by_place(store: &dyn LogStore, scribe: &Scribe) {
    let rows = store.rows(scribe.org, 590, 5).await.unwrap();
    let places: Vec<_> = rows.iter().map(|row| row.seq).collect();
    assert_eq!(places, [590, 591, 592, 593, 594]);
    for row in &rows {
        assert_eq!(crypto::sha256(&row.body), row.digest);
        assert_eq!(row.kind, "admin");
    }
    assert_eq!(store.rows(scribe.org, 598, 5).await.unwrap().len(), 2);
    assert_eq!(store.rows(scribe.org, 600, 5).await.unwrap(), []);
}

async fn checkpoints_are_kept_once(store: &dyn LogStore, scribe: &Scribe) {
    assert_eq!(store.last_checkpoint(scribe.org).await.unwrap(), None);
    let signed = |size: u64, note: &str| SignedCheckpoint {
        size,
        root: crypto::sha256(note),
        note: note.to_owned(),
        signed_at: scribe.now,
    };
    for (size, note) in [(7, "seven"), (9, "nine"), (8, "eight"), (9, "nine again")] {
        store.put_checkpoint(scribe.org, &signed(size, note)).await.unwrap();
    }
    let last = store.last_checkpoint(scribe.org).await.unwrap();
    assert_eq!(last, Some(signed(9, "nine")), "the first of a size stays");
    let some = store.checkpoints(scribe.org, 7..9).await.unwrap();
    assert_eq!(some, [signed(7, "seven"), signed(8, "eight")]);
    assert_eq!(store.checkpoints(scribe.org, 10..900).await.unwrap(), []);
}

async fn what_does_not_fit_is_told(store: &dyn LogStore, scribe: &Scribe) {
    assert_eq!(store.misfit(scribe.org).await.unwrap(), None);
    let ahead = SignedCheckpoint {
        size: DEEDS + 1,
        root: crypto::sha256("ahead"),
        note: "ahead".to_owned(),
        signed_at: scribe.now,
    };
    store.put_checkpoint(scribe.org, &ahead).await.unwrap();
    let found = store.misfit(scribe.org).await.unwrap().unwrap();
    assert_eq!((found.what, found.place, found.last), (Stray::Checkpoint, DEEDS + 1, DEEDS - 1));
}

async fn nothing_is_told_of_an_org_that_is_not_there(store: &dyn LogStore) {
    let org = Scribe::new(701, model::Timestamp::EPOCH).org;
    assert_eq!(store.head(org).await.unwrap(), None);
    assert_eq!(store.rows(org, 0, 5).await.unwrap(), []);
    let spans = [Span { level: 0, start: 0, count: 4 }];
    assert_eq!(store.hashes(org, &spans).await.unwrap(), [[]]);
    assert_eq!(store.last_checkpoint(org).await.unwrap(), None);
    assert_eq!(store.misfit(org).await.unwrap(), None);
}
