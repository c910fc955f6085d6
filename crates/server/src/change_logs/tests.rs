//! How a log stands that is followed.

use crypto::{Secret, SystemEntropy, vault::Ring};
use store_memory::MemoryStore;

use super::*;
use crate::clock::SystemClock;

const ALARM: Alarm = Alarm { without_beat: Duration::from_mins(1), held_bytes: 1_000 };

fn logs(alarm: Alarm) -> ChangeLogs {
    let ring = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned();
    let vault = Arc::new(Ring::parse(&Secret::new(ring)).unwrap());
    let images = Images { vault, entropy: Arc::new(SystemEntropy::new()) };
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    ChangeLogs::new((store, images), Duration::from_millis(100), alarm)
}

fn of() -> Of {
    Of {
        org: "org_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        connector: "con_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
    }
}

#[test]
fn a_log_that_lags_is_well_again_once_it_is_clearly_below_the_bound() {
    let logs = logs(ALARM);
    assert_eq!(logs.standing(of()), None);
    for (held, standing) in [
        (1_000, Standing::Streaming),
        (1_001, Standing::Lagging),
        (751, Standing::Lagging),
        (750, Standing::Streaming),
        (900, Standing::Streaming),
    ] {
        logs.note_read(of(), &Tally::default(), held);
        assert_eq!(logs.standing(of()), Some((standing, None)), "{held}");
    }
    let figures = logs.figures();
    assert_eq!((figures.followed, figures.lagging, figures.held_bytes), (1, 0, 900));
}

#[tokio::test]
async fn a_log_is_broken_before_it_is_stalled_and_stalled_before_it_lags() {
    let logs = logs(Alarm { without_beat: Duration::ZERO, ..ALARM });
    logs.note_read(of(), &Tally::default(), 2_000);
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert_eq!(logs.standing(of()), Some((Standing::Stalled, None)));
    assert!(logs.note_broken(of(), LogGap::SlotInvalidated));
    assert!(!logs.note_broken(of(), LogGap::SlotInvalidated));
    let broken = Some((Standing::Invalidated, Some(LogGap::SlotInvalidated)));
    assert_eq!(logs.standing(of()), broken);
    let figures = logs.figures();
    assert_eq!((figures.broken, figures.stalled, figures.lagging), (1, 0, 0));
    logs.left(of());
    assert_eq!((logs.standing(of()), logs.figures().followed), (None, 0));
}

#[tokio::test]
async fn a_log_that_could_not_be_read_from_the_beginning_is_followed_and_stalls() {
    let logs = logs(Alarm { without_beat: Duration::ZERO, ..ALARM });
    logs.note_unread(of());
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert_eq!(logs.standing(of()), Some((Standing::Stalled, None)));
}
