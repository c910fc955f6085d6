//! What a checkpoint from before says about a database, over stores in memory.

use ledger::{Head, LogNo, Turn};
use model::{Digest, LogId, Timestamp};
use records::OrgLog;

use std::fs;

use super::*;
use crate::demo::Stage;

/// A folder that goes away with its test.
struct Beside(PathBuf);

impl Beside {
    fn new(name: &str) -> Self {
        let name = format!("chancery-{}-{name}.pem", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn checkpoints(&self) -> Checkpoints {
        Checkpoints::beside(&self.0)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.checkpoints().folder());
    }
}

async fn head(stage: &Stage) -> ChainHead {
    let (base, _) = stage.core.stores.ledger.base(stage.org).await.expect("an answer");
    base.expect("the org").head.chain
}

fn first(stage: &Stage) -> OrgLog {
    OrgLog { org: stage.org, no: LogNo::FIRST }
}

fn sign(stage: &Stage, head: &ChainHead, checkpoints: &Checkpoints) {
    let note = stage.core.ledger.sealer().checkpoint(head, head.issued_at()).expect("a note");
    checkpoints.files.keep(head.log(), &note).expect("a file");
}

/// The orgs that nothing is sealed for once the checkpoints were looked at.
async fn withheld(stage: &Stage, checkpoints: &Checkpoints) -> Vec<OrgId> {
    checkpoints.check(&stage.core).await.expect("a look");
    stage.core.ledger.withheld().into_iter().collect()
}

/// Has the stage's agent refund something, which takes turns of its org.
async fn refund(stage: &Stage) -> Result<(), Failure> {
    let args = serde_json::json!({ "order": 1001, "amount": 5 });
    stage.call("shop.refund", args).await.map(|_| ())
}

#[tokio::test]
async fn a_log_that_stands_or_grew_is_accepted() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("grew"));
    let checkpoints = beside.checkpoints();
    checkpoints.check(&stage.core).await.expect("nothing was signed yet");
    let mut seen = Seen::default();
    checkpoints.sign(&stage.core, &mut seen).await.expect("signed");
    assert!(checkpoints.file_of(&head(&stage).await).is_file());
    checkpoints.check(&stage.core).await.expect("as it was signed");
    refund(&stage).await.expect("an action");
    assert!(withheld(&stage, &checkpoints).await.is_empty(), "one deed more");
    checkpoints.sign(&stage.core, &mut seen).await.expect("signed as it grew");
    let kept = stage.core.stores.records.last_checkpoint(first(&stage)).await.expect("an answer");
    let kept = kept.expect("a checkpoint");
    assert_eq!((kept.size, kept.root), (head(&stage).await.size(), head(&stage).await.root()));
    let file = fs::read_to_string(checkpoints.file_of(&head(&stage).await)).expect("the file");
    assert_eq!(kept.note, file, "the store has what the file has");
}

#[tokio::test]
async fn a_head_is_signed_once() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("once"));
    let (checkpoints, mut seen) = (beside.checkpoints(), Seen::default());
    checkpoints.sign(&stage.core, &mut seen).await.expect("signed");
    let file = checkpoints.file_of(&head(&stage).await);
    fs::remove_file(&file).expect("the file");
    checkpoints.sign(&stage.core, &mut seen).await.expect("nothing to sign");
    assert!(!file.exists());
}

#[tokio::test]
async fn nothing_is_sealed_in_a_log_that_lost_its_tail() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("tail"));
    let checkpoints = beside.checkpoints();
    let (longer, _) = head(&stage).await.advance(digest(1), Timestamp::EPOCH);
    let longer = reissued(&longer, &head(&stage).await);
    sign(&stage, &longer, &checkpoints);
    assert_eq!(withheld(&stage, &checkpoints).await, [stage.org]);
    let size = head(&stage).await.size();
    refund(&stage).await.expect_err("no turn is taken");
    assert_eq!(head(&stage).await.size(), size, "nothing was sealed");
    let kept = fs::read_to_string(checkpoints.file_of(&longer)).expect("the file");
    checkpoints.sign(&stage.core, &mut Seen::default()).await.expect("others are signed");
    let after = fs::read_to_string(checkpoints.file_of(&longer)).expect("the file");
    assert_eq!(kept, after, "the memory of what was signed stays");
}

/// A log of other deeds than the real one, with the real one's name and times.
fn other_deeds(real: &ChainHead, size: u64) -> ChainHead {
    let mut other = ChainHead::genesis(real.log().clone());
    for index in 0..size {
        other = other.advance(digest(index), real.issued_at()).0;
    }
    other
}

#[tokio::test]
async fn nothing_is_sealed_in_a_log_with_other_deeds() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("other"));
    let checkpoints = beside.checkpoints();
    let real = head(&stage).await;
    sign(&stage, &other_deeds(&real, real.size()), &checkpoints);
    assert_eq!(withheld(&stage, &checkpoints).await, [stage.org]);
}

#[tokio::test]
async fn nothing_is_sealed_in_a_log_that_grew_from_another_beginning() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("regrown"));
    let checkpoints = beside.checkpoints();
    let real = head(&stage).await;
    sign(&stage, &other_deeds(&real, real.size() - 1), &checkpoints);
    assert_eq!(withheld(&stage, &checkpoints).await, [stage.org], "longer, and another log");
}

#[tokio::test]
async fn a_log_that_changes_its_past_while_it_is_watched_is_withheld() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("watched"));
    let (checkpoints, real) = (beside.checkpoints(), head(&stage).await);
    let signed = Checkpoint::of(&other_deeds(&real, real.size() - 1));
    let signed = HashMap::from([(stage.org, signed)]);
    let mut seen = Seen { signed, ..Seen::default() };
    checkpoints.sign(&stage.core, &mut seen).await.expect("a round");
    assert_eq!(stage.core.ledger.withheld().into_iter().collect::<Vec<_>>(), [stage.org]);
    assert!(!checkpoints.file_of(&real).exists(), "the other past is not signed");
}

#[tokio::test]
async fn a_log_that_is_gone_keeps_the_operators_org_from_sealing() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("gone"));
    let checkpoints = beside.checkpoints();
    let real = head(&stage).await;
    let log = "demo.example/logs/log_00000000000000000000000007".parse().expect("an origin");
    let gone = ChainHead::genesis(log).advance(digest(0), real.issued_at()).0;
    sign(&stage, &gone, &checkpoints);
    assert_eq!(withheld(&stage, &checkpoints).await, [OPERATOR_ORG]);
    refund(&stage).await.expect("the others go on");
}

/// What an instance remembers that sealed three deeds more than there are.
async fn longer(stage: &Stage) -> ChainHead {
    let real = head(stage).await;
    let more = |head: ChainHead, number| head.advance(digest(number), real.issued_at()).0;
    (0..3).fold(real.clone(), more)
}

#[tokio::test]
async fn a_new_log_that_tells_of_the_loss_is_taken_up_by_everyone_who_remembers_the_old_one() {
    let stage = Stage::set().await.expect("a stage");
    let (mine, other) = (Beside::new("mine"), Beside::new("other instance"));
    let (remembers, knows_less) = (mine.checkpoints(), other.checkpoints());
    sign(&stage, &longer(&stage).await, &remembers);
    sign(&stage, &head(&stage).await, &knows_less);
    assert_eq!(withheld(&stage, &remembers).await, [stage.org]);
    let mut seen = Seen::default();
    remembers.sign(&stage.core, &mut seen).await.expect("a round");
    refund(&stage).await.expect_err("no turn is taken");

    let missing = remembers.missing(&stage.core).await.expect("a look");
    let known = missing.into_iter().next().expect("something is missing").known.expect("a note");
    let operator = stage.core.operator(stage.org);
    let old = head(&stage).await;
    operator.recover_log(known.clone(), Some("A disk died.")).await.expect("a new log");
    let again = operator.recover_log(known, None).await;
    again.expect_err("the old log is closed for good");
    remembers.sign(&stage.core, &mut seen).await.expect("a round");
    assert!(stage.core.ledger.withheld().is_empty(), "sealing goes on without a restart");
    refund(&stage).await.expect("an action in the new log");
    assert!(withheld(&stage, &remembers).await.is_empty());
    assert!(withheld(&stage, &knows_less).await.is_empty());

    let new = head(&stage).await;
    assert_ne!(new.log(), old.log());
    let files = [remembers.file_of(&old), remembers.file_of(&new)];
    assert!(files.iter().all(|file| file.is_file()), "both are kept");
    // Whoever keeps the new log's checkpoint finds a tail that is cut off there too.
    sign(&stage, &longer(&stage).await, &knows_less);
    assert_eq!(withheld(&stage, &knows_less).await, [stage.org]);
}

#[tokio::test]
async fn a_log_that_is_replaced_without_a_sealed_word_is_withheld() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("untold"));
    let checkpoints = beside.checkpoints();
    sign(&stage, &head(&stage).await, &checkpoints);
    let (base, now) = stage.core.stores.ledger.base(stage.org).await.expect("an answer");
    let closed = base.expect("the org").head;
    let id = LogId::from_uuid(*stage.org.as_uuid());
    let log = LogOrigin::new("demo.example", id).expect("an origin");
    let head = Head {
        version: closed.version + 1,
        log_no: closed.log_no.next(),
        chain: ChainHead::genesis(log),
        event_seq: closed.event_seq,
    };
    let turn = Turn {
        id: *id.as_uuid(),
        org: stage.org,
        expected: Some(closed.mark()),
        head,
        closes: Some(closed),
        at: now,
        changes: ledger::Changes::default(),
        deeds: Vec::new(),
        events: Vec::new(),
    };
    stage.core.stores.ledger.append(&turn).await.expect("whoever owns the database can");
    assert_eq!(withheld(&stage, &checkpoints).await, [stage.org]);
    let missing = checkpoints.missing(&stage.core).await.expect("a look");
    assert!(matches!(
        missing.as_slice(),
        [Missing { why: Unsound::Log(LogError::Untold { .. }), .. }]
    ));
}

#[tokio::test]
async fn a_file_that_cannot_be_read_withholds_its_org_until_it_can() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("note"));
    let checkpoints = beside.checkpoints();
    let mut seen = Seen::default();
    checkpoints.sign(&stage.core, &mut seen).await.expect("signed");
    let file = checkpoints.file_of(&head(&stage).await);
    let note = fs::read_to_string(&file).expect("the file");
    fs::write(&file, "nonsense").expect("a file");
    assert_eq!(withheld(&stage, &checkpoints).await, [stage.org]);
    checkpoints.sign(&stage.core, &mut seen).await.expect("nothing else is wrong");
    refund(&stage).await.expect_err("no turn is taken");
    fs::write(&file, note).expect("a file");
    checkpoints.sign(&stage.core, &mut seen).await.expect("it is looked at again");
    refund(&stage).await.expect("an action");
}

#[tokio::test]
async fn the_note_of_another_log_is_no_memory_of_this_one() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("renamed"));
    let checkpoints = beside.checkpoints();
    let real = head(&stage).await;
    sign(&stage, &real, &checkpoints);
    let file = checkpoints.file_of(&real);
    fs::rename(&file, file.with_file_name("log_another.checkpoint")).expect("a file");
    assert_eq!(withheld(&stage, &checkpoints).await, [OPERATOR_ORG], "it is nobody's");
}

fn digest(number: u64) -> Digest {
    crypto::sha256(number.to_be_bytes())
}

/// The head with the time of another, at which the keys count.
fn reissued(head: &ChainHead, of: &ChainHead) -> ChainHead {
    let (log, last) = (head.log().clone(), *head.last());
    ChainHead::restore(log, last, of.issued_at(), head.frontier().clone())
}
