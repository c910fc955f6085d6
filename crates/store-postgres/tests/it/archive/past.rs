//! Deeds that went to partitions of the past: what is read and proved, while these are attached and
//! while they are away.

use crypto::Secret;
use gate::ActionStore;
use ledger::LogNo;
use model::DeedId;
use records::{DeedStore, EntryStore, Fault, LogStore, OrgLog, Problem};
use store_postgres::{ArchiveError, Earnest, Settings, move_to_the_past};

use super::old::{DAY, NOTHING, OLD, Old, SIZE};

/// The last of the events that go with the second tile cannot be removed.
const STOP: &str = "
    create function stop() returns trigger language plpgsql
        as $$ begin raise exception 'stopped'; end $$;
    create trigger stop before delete on event for each row when (old.seq = 750)
        execute function stop()";

#[tokio::test]
async fn old_deeds_move_and_nothing_reads_or_proves_differently() {
    let Some(old) = Old::new(1700).await else { return };
    let (before, broken) = (old.read().await, old.broken().await);
    assert_eq!(before.deeds.len() as u64, SIZE);
    assert_eq!(broken, Vec::<String>::new());
    let waits = old.moved(Earnest::Do).await.unwrap();
    assert_eq!((waits.deeds, waits.waits), (0, true), "payloads go first");
    old.prune().await;
    let told = old.moved(Earnest::Tell).await.unwrap();
    assert_eq!((told.deeds, told.waits), (OLD, false));
    assert_eq!(old.count("select count(*) from only deed").await, SIZE, "only told");

    // Two at once: one waits for the other.
    let (one, two) = tokio::join!(old.moved(Earnest::Do), old.moved(Earnest::Do));
    assert_eq!(one.unwrap().deeds + two.unwrap().deeds, OLD);
    assert_eq!(old.count("select count(*) from only deed").await, (SIZE - OLD));
    assert_eq!(old.count("select count(*) from only action").await, (SIZE - OLD) / 2);
    assert!(old.count("select count(*) from only event").await < 200);
    assert!(old.parts().await.len() > 1 && old.parts().await.iter().all(|part| !part.is_away));
    let digests: Vec<_> = before.deeds.iter().map(|deed| (deed.seq, deed.digest)).collect();
    let log = OrgLog { org: old.scribe.org, no: LogNo::FIRST };
    let kept = old.store.checkpoints(log, 0..SIZE + 1).await.unwrap();
    assert_eq!(kept.len(), 16);
    assert_eq!(old.read().await.differs(&before), NOTHING);
    old.prove(&digests, &kept).await;
    assert_eq!(old.check().await, (SIZE, None));
    assert!(!old.walk().await);
    assert_eq!(old.broken().await, Vec::<String>::new());

    // The newest are found without looking through the past.
    let plan =
        "explain select id from action where org_id = gen_random_uuid() and id > gen_random_uuid()
        order by id desc limit 50";
    let plan = plan.replace("gen_random_uuid()", "'00000000-0000-0000-0000-000000000000'");
    old.run("set enable_seqscan = off; set enable_bitmapscan = off").await;
    let rows = old.owner.query(&plan, &[]).await.unwrap();
    let text: String = rows.iter().map(|row| row.get::<_, String>(0) + "\n").collect();
    assert!(text.contains("Merge Append") && !text.contains("Sort\n"), "{text}");
    let due = "explain select id from action where state = 'executing' and deadline < now()";
    let rows = old.owner.query(due, &[]).await.unwrap();
    let text: String = rows.iter().map(|row| row.get::<_, String>(0) + "\n").collect();
    assert!(!text.contains("action_2"), "what is due is not looked for in the past: {text}");
}

/// A row that was changed while its partition was away is found, and so is one that went.
async fn changed_while_it_is_away(old: &Old, part: &str, seq: u64) {
    let table = format!("deed_{part}");
    old.as_told("To detach", part).await;
    old.run(&format!(
        "create table kept as table {table};
        update {table} set body = replace(body, 'livemode', 'livemodf'),
            digest = sha256(convert_to(replace(body, 'livemode', 'livemodf'), 'UTF8'))
            where seq = {seq}"
    ))
    .await;
    old.as_told("To attach", part).await;
    let found = |fault: Option<Fault>| fault.map(|fault| (fault.seq, fault.problem));
    assert_eq!(found(old.check().await.1), Some((seq, Problem::BodyMissing)));
    old.run(&format!("delete from {table} where seq = {seq}")).await;
    assert_eq!(found(old.check().await.1), Some((seq, Problem::Gap)));
    old.run(&format!("delete from {table}; insert into {table} table kept; drop table kept")).await;
    assert_eq!(old.check().await, (SIZE, None));
}

#[tokio::test]
async fn a_partition_that_is_away_breaks_no_log_and_comes_back_as_it_was() {
    let Some(old) = Old::new(1710).await else { return };
    let before = old.read().await;
    old.prune().await;
    old.moved(Earnest::Do).await.unwrap();
    let digests: Vec<_> = before.deeds.iter().map(|deed| (deed.seq, deed.digest)).collect();
    let log = OrgLog { org: old.scribe.org, no: LogNo::FIRST };
    let kept = old.store.checkpoints(log, 0..SIZE + 1).await.unwrap();
    let parts = old.parts().await;
    let org = old.scribe.org;
    for part in &parts {
        old.as_told("To detach", &part.name).await;
        let away = old.parts().await;
        let gone: Vec<_> = away.iter().filter(|part| part.is_away).map(|part| &part.name).collect();
        assert_eq!(gone, [&part.name]);
        let left = old.read().await;
        assert_eq!(left.deeds.len() as u64, SIZE - part.deeds);
        assert!(left.deeds.iter().all(|deed| before.deeds.contains(deed)));
        assert!(left.actions.iter().all(|action| before.actions.contains(action)));
        let lost = before.actions.iter().find(|action| !left.actions.contains(action)).unwrap();
        assert_eq!(old.store.action(org, lost.id).await.unwrap(), None);
        assert!(old.store.detail(org, lost.id).await.unwrap().is_none());
        let deed: DeedId = lost.deed.unwrap();
        assert_eq!(old.store.deed(org, deed).await.unwrap(), None);
        // The log is as provable as before, and what was not looked at is not called broken.
        old.prove(&digests, &kept).await;
        assert_eq!(old.check().await, (SIZE - part.deeds, None));
        assert!(!old.walk().await);
        assert_eq!(old.broken().await, Vec::<String>::new());
        // Times still lead to what is here.
        for time in &old.times {
            let place = old.store.place_at(org, *time).await.unwrap().as_u64();
            let first = before.deeds.iter().rev().find(|deed| deed.issued_at >= *time).unwrap();
            let is_here = left.deeds.contains(first);
            assert!(!is_here || place == first.seq, "{time}: {place}, not {}", first.seq);
            let place = old.store.event_place_at(org, *time).await.unwrap();
            let first =
                before.entries.iter().rev().find(|entry| entry.event.created_at >= *time).unwrap();
            let is_here = left.entries.iter().any(|entry| entry.event.seq == first.event.seq);
            assert!(!is_here || place == first.event.seq, "{time}: {place}");
        }
        let refused = old.moved(Earnest::Do).await.unwrap();
        assert_eq!(refused.deeds, 0);
        old.as_told("To attach", &part.name).await;
        assert_eq!(old.read().await.differs(&before), NOTHING, "it is back as it was");
        assert_eq!(old.check().await, (SIZE, None));
        let at = before.deeds.iter().find(|deed| !left.deeds.contains(deed)).unwrap();
        changed_while_it_is_away(&old, &part.name, at.seq).await;
    }
    // All of them at once.
    for part in &parts {
        old.as_told("To detach", &part.name).await;
    }
    old.prove(&digests, &kept).await;
    assert_eq!(old.check().await, (SIZE - OLD, None));
    assert_eq!(old.broken().await, Vec::<String>::new());
    for part in &parts {
        old.as_told("To attach", &part.name).await;
    }
    assert_eq!(old.read().await.differs(&before), NOTHING);
    // And back to where turns write, the newest first.
    for part in parts.iter().rev() {
        old.as_told("To move a partition back", &part.name).await;
        assert_eq!(old.check().await, (SIZE, None));
        assert_eq!(old.broken().await, Vec::<String>::new());
    }
    assert_eq!(old.count("select count(*) from only deed").await, SIZE);
    assert_eq!(old.read().await.differs(&before), NOTHING);
    old.prove(&digests, &kept).await;
}

#[tokio::test]
async fn a_move_that_is_broken_off_leaves_every_row_in_one_place() {
    let Some(old) = Old::new(1720).await else { return };
    let before = old.read().await;
    old.prune().await;
    let young =
        move_to_the_past(&old.settings(), (None, old.scribe.now + DAY * 99), Earnest::Do).await;
    assert!(matches!(young, Err(ArchiveError::TooYoung)), "{young:?}");
    let serving = Settings::new(Secret::new(old.database.url()));
    let refused = move_to_the_past(&serving, (None, old.times[9]), Earnest::Do).await;
    assert!(matches!(refused, Err(ArchiveError::Failed { .. })), "{refused:?}");

    // The first tile goes, and nothing after it.
    let first =
        move_to_the_past(&old.settings(), (Some(old.scribe.org), old.times[7]), Earnest::Do).await;
    assert_eq!(first.unwrap()[0].deeds, 256);
    // An event of the second tile cannot be moved, after its deeds and actions were.
    old.run(STOP).await;
    let broken = old.moved(Earnest::Do).await;
    assert!(matches!(broken, Err(ArchiveError::Failed { .. })), "{broken:?}");
    assert_eq!(old.count("select count(*) from deed").await, SIZE);
    assert_eq!(old.count("select count(distinct id) from deed").await, SIZE);
    assert_eq!(old.count("select count(distinct id) from action").await, SIZE / 2);
    assert_eq!(old.read().await.differs(&before), NOTHING);
    assert_eq!(old.check().await, (SIZE, None));
    old.run("drop trigger stop on event; drop function stop").await;
    // A tile that is not as it was sealed stays.
    let spoil = "update only deed set digest = sha256(digest) where seq = 300";
    old.run(&format!("create table kept as select * from only deed; {spoil}")).await;
    let unsound = old.moved(Earnest::Do).await;
    assert!(matches!(unsound, Err(ArchiveError::Unsound { place: 256, .. })), "{unsound:?}");
    old.run("delete from only deed; insert into deed table kept; drop table kept").await;
    assert_eq!(old.moved(Earnest::Do).await.unwrap().deeds, OLD - 256);
    assert_eq!(old.read().await.differs(&before), NOTHING);
    assert_eq!(old.check().await, (SIZE, None));
    assert_eq!(old.moved(Earnest::Do).await.unwrap().deeds, 0, "twice is once");
}
