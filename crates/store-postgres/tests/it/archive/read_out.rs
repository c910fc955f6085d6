//! A log of which a part is archived, as it is read out and verified.

use deed::{
    KeySet, api_form,
    verify::{Grade, Report, Trust, Verdict, examine},
};
use ledger::LogNo;
use records::{LogLine, LogStore, OrgLog, ReadError, ReadRange};
use store_postgres::Earnest;

use super::old::{OLD, Old, SIZE};

/// The log as it is read out.
async fn lines(old: &Old, range: ReadRange) -> Result<String, ReadError> {
    let mut out = old.records.read_out(old.scribe.org, None, range).await?;
    let mut text = String::new();
    loop {
        let step = out.step(&old.records).await?;
        if step.is_empty() {
            return Ok(text);
        }
        for line in step {
            text += &match line {
                LogLine::Deed(deed) => {
                    let row = &deed.row;
                    api_form(&row.body, &row.signature, &deed.disclosures).unwrap().to_string()
                }
                LogLine::Archived(archived) => archived.to_line().unwrap(),
            };
            text.push('\n');
        }
    }
}

fn from(from: u64) -> ReadRange {
    ReadRange { from, ..ReadRange::default() }
}

fn judged(old: &Old, text: &str, known_checkpoint: Option<String>) -> Report {
    let keys: KeySet = (*old.scribe.sealer().registered()).clone();
    examine(text.as_bytes(), &Trust { keys: Some(keys), known_checkpoint, expected_size: None })
}

/// How many deeds of the report are archived and proved, and how many archived alone.
fn archived(report: &Report) -> (u64, u64) {
    let count = |proved| {
        let of = report.archived.iter().filter(|part| part.proved == proved);
        of.map(|part| part.to - part.from).sum()
    };
    (count(true), count(false))
}

/// The log verifies, by itself and against every checkpoint that somebody may have kept.
async fn verifies(old: &Old, away: u64) {
    let log = OrgLog { org: old.scribe.org, no: LogNo::FIRST };
    let kept = old.store.checkpoints(log, 0..SIZE + 1).await.unwrap();
    assert!(kept.len() > 15);
    let alone = judged(old, &lines(old, from(0)).await.unwrap(), None);
    assert_eq!((alone.verdict, alone.grade), (Verdict::Valid, Some(Grade::Chained)), "{alone}");
    assert_eq!((alone.deeds.len() as u64, archived(&alone)), (SIZE - away, (away, 0)));
    for kept in kept {
        let range = ReadRange { known_size: Some(kept.size), ..ReadRange::default() };
        let report = judged(old, &lines(old, range).await.unwrap(), Some(kept.note));
        let found = (report.verdict, report.grade, archived(&report));
        let size = kept.size;
        assert_eq!(
            found,
            (Verdict::Valid, Some(Grade::Checkpointed), (away, 0)),
            "{size} {report}"
        );
    }
}

#[tokio::test]
async fn a_log_of_which_a_part_is_archived_verifies_against_every_kept_checkpoint() {
    let Some(old) = Old::new(1730).await else { return };
    old.prune().await;
    old.moved(Earnest::Do).await.unwrap();
    let whole = lines(&old, from(0)).await.unwrap();
    let parts = old.parts().await;
    for part in &parts {
        old.as_told("To detach", &part.name).await;
        verifies(&old, part.deeds).await;
        old.as_told("To attach", &part.name).await;
    }
    for part in &parts {
        old.as_told("To detach", &part.name).await;
    }
    verifies(&old, OLD).await;
    let out = lines(&old, from(0)).await.unwrap();
    let named = parts.iter().filter(|part| out.contains(&part.name)).count();
    assert_eq!((named, out.lines().count() as u64), (parts.len(), parts.len() as u64 + SIZE - OLD));

    // Read from the middle of a tile on it is signed, and its archived deeds are proved to nobody.
    let middle = judged(&old, &lines(&old, from(700)).await.unwrap(), None);
    assert_eq!((middle.verdict, middle.grade), (Verdict::Valid, Some(Grade::Signed)));
    assert_eq!(archived(&middle), (0, OLD - 700));
    // Up to a size of which no checkpoint was signed there is none beside the archived deeds.
    let cut = ReadRange { to: Some(777), ..ReadRange::default() };
    let cut = judged(&old, &lines(&old, cut).await.unwrap(), None);
    assert_eq!((cut.verdict, archived(&cut)), (Verdict::Valid, (0, OLD)));

    // A deed that is gone is not archived: nothing stands in its place.
    for part in &parts {
        old.as_told("To attach", &part.name).await;
    }
    assert_eq!(lines(&old, from(0)).await.unwrap(), whole, "it is read as before");
    old.run(&format!("delete from deed_{} where seq = 5", parts[0].name)).await;
    let missing = lines(&old, from(0)).await;
    assert!(matches!(missing, Err(ReadError::Missing { seq: 5 })), "{missing:?}");
}
