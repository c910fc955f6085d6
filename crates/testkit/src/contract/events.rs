//! Events come in the order of commits, without gaps, and only the org's own.

use model::OrgId;

use super::Store;
use crate::{Draft, Scribe};

pub(super) async fn check(store: &dyn Store) {
    let mut scribe = Scribe::created(500, store).await;
    let mut other = Scribe::created(501, store).await;
    assert_eq!(store.last_event(scribe.org).await.unwrap(), 0);
    assert!(store.events_after(scribe.org, 0, 10).await.unwrap().is_empty());
    let mut written = Vec::new();
    for size in [1_usize, 3, 0, 7, 2] {
        let events = (0..size).map(|_| scribe.event(None)).collect();
        let turn = scribe.append(store, Draft { events, ..Draft::default() }).await.unwrap();
        written.extend(turn.events);
        let events = vec![other.event(None)];
        other.append(store, Draft { events, ..Draft::default() }).await.unwrap();
    }
    assert_eq!(store.last_event(scribe.org).await.unwrap(), 13);
    assert_eq!(store.last_event(other.org).await.unwrap(), 5);
    for after in 0..=14 {
        for limit in [0, 1, 4, 100] {
            let found = store.events_after(scribe.org, after, limit).await.unwrap();
            let skipped = written.iter().skip(usize::try_from(after).unwrap());
            let expected: Vec<_> = skipped.take(limit).cloned().collect();
            assert_eq!(found, expected, "after {after}, at most {limit}");
        }
    }
    for places in [&[][..], &[3], &[13, 1, 14, 7]] {
        let expected: Vec<_> =
            written.iter().filter(|event| places.contains(&event.seq)).cloned().collect();
        assert_eq!(store.events_at(scribe.org, places).await.unwrap(), expected, "{places:?}");
    }
    let nobody = OrgId::from_uuid(uuid::Uuid::nil());
    assert!(store.events_after(nobody, 0, 10).await.unwrap().is_empty());
    assert_eq!(store.last_event(nobody).await.unwrap(), 0);
}
