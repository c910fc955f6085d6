//! What a checkpoint from before says about a database, over stores in memory.

use model::{Digest, Timestamp};

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

fn sign(stage: &Stage, head: &ChainHead, checkpoints: &Checkpoints) {
    let note = stage.core.ledger.sealer().checkpoint(head, head.issued_at()).expect("a note");
    checkpoints.keep(head, &note).expect("a file");
}

async fn refusal(stage: &Stage, checkpoints: &Checkpoints) -> String {
    checkpoints.check(&stage.core).await.expect_err("a refusal").to_string()
}

#[tokio::test]
async fn a_log_that_stands_or_grew_is_accepted() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("grew"));
    let checkpoints = beside.checkpoints();
    checkpoints.check(&stage.core).await.expect("nothing was signed yet");
    let mut seen = HashMap::new();
    checkpoints.sign(&stage.core, &mut seen).await.expect("signed");
    assert!(checkpoints.file_of(&head(&stage).await).is_file());
    checkpoints.check(&stage.core).await.expect("as it was signed");
    let args = serde_json::json!({ "order": 1001, "amount": 5 });
    stage.call("shop.refund", args).await.expect("an action");
    checkpoints.check(&stage.core).await.expect("one deed more");
}

#[tokio::test]
async fn a_head_is_signed_once() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("once"));
    let (checkpoints, mut seen) = (beside.checkpoints(), HashMap::new());
    checkpoints.sign(&stage.core, &mut seen).await.expect("signed");
    let file = checkpoints.file_of(&head(&stage).await);
    fs::remove_file(&file).expect("the file");
    checkpoints.sign(&stage.core, &mut seen).await.expect("nothing to sign");
    assert!(!file.exists());
}

#[tokio::test]
async fn a_log_that_lost_its_tail_is_refused() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("tail"));
    let checkpoints = beside.checkpoints();
    let (longer, _) = head(&stage).await.advance(digest(1), Timestamp::EPOCH);
    let longer = reissued(&longer, &head(&stage).await);
    sign(&stage, &longer, &checkpoints);
    let why = refusal(&stage, &checkpoints).await;
    assert!(why.contains("deeds, and") && why.contains("Restore a newer backup"), "{why}");
}

#[tokio::test]
async fn a_log_with_other_deeds_is_refused() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("other"));
    let checkpoints = beside.checkpoints();
    let real = head(&stage).await;
    let mut other = ChainHead::genesis(real.log().clone());
    for index in 0..real.size() {
        other = other.advance(digest(index), real.issued_at()).0;
    }
    sign(&stage, &other, &checkpoints);
    assert!(refusal(&stage, &checkpoints).await.contains("other deeds"));
}

#[tokio::test]
async fn a_log_that_is_gone_is_refused() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("gone"));
    let checkpoints = beside.checkpoints();
    let real = head(&stage).await;
    let log = format!("{}x", "demo.example/logs/log_0000000000000000000000000");
    let log = log.replace('x', "7").parse().expect("an origin");
    let gone = ChainHead::genesis(log).advance(digest(0), real.issued_at()).0;
    sign(&stage, &gone, &checkpoints);
    assert!(refusal(&stage, &checkpoints).await.contains("does not have the log"));
}

#[tokio::test]
async fn a_file_that_is_no_signed_note_stops_the_start() {
    let (stage, beside) = (Stage::set().await.expect("a stage"), Beside::new("note"));
    let checkpoints = beside.checkpoints();
    fs::create_dir_all(checkpoints.folder()).expect("a folder");
    fs::write(checkpoints.folder().join("log_x.checkpoint"), "nonsense").expect("a file");
    assert!(checkpoints.check(&stage.core).await.is_err());
}

fn digest(number: u64) -> Digest {
    crypto::sha256(number.to_be_bytes())
}

/// Returns the head with the time of another, at which the keys count.
fn reissued(head: &ChainHead, of: &ChainHead) -> ChainHead {
    let (log, last) = (head.log().clone(), *head.last());
    ChainHead::restore(log, last, of.issued_at(), head.frontier().clone())
}
