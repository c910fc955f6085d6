//! `log`: lists logs of deeds, and opens a new one in place of one that lost deeds.

use deed::{Checkpoint, LogOrigin};
use model::{OrgId, causes};
use records::{LogHead, OrgLog, Remembered, Standing, judge};

use crate::{
    checkpoints::{Missing, Unsound},
    cli::{Log, RecoverLog},
    core::Core,
    exit::{Exit, Failure},
    print,
    wire_up::Wired,
};

pub(super) async fn run(wired: &Wired, what: Log) -> Result<Exit, Failure> {
    match what {
        Log::List { org } => list(&wired.core, org).await,
        Log::Recover(what) => recover(wired, what).await,
    }
}

async fn list(core: &Core, org: Option<OrgId>) -> Result<Exit, Failure> {
    let logs = core.records.store().logs().await.map_err(|error| unread(&error))?;
    let unreached = if org.is_none() { logs.unreached.len() } else { 0 };
    let listed = match org {
        Some(org) => logs.of(org).map_err(|down| Failure::unavailable(causes(&down)))?,
        None => logs.sizes.iter().collect(),
    };
    if let (Some(org), []) = (org, listed.as_slice()) {
        return Err(Failure::usage(format!("there is no org `{org}`")));
    }
    for log in listed {
        let stands = match log.standing {
            Standing::Open => "open".to_owned(),
            Standing::Closed { at } => format!("closed {at}"),
        };
        let OrgLog { org, no } = log.of;
        print::line(format!("{org}  {}  {}  {} deeds  {stands}", no.get(), log.log, log.size));
    }
    super::all_but(unreached)
}

async fn recover(wired: &Wired, what: RecoverLog) -> Result<Exit, Failure> {
    let RecoverLog { org, reason, known_checkpoint } = what;
    let core = &wired.core;
    let before = head(core, org).await?;
    let given = known_checkpoint.as_deref().map(super::read_text).transpose()?;
    let known = match given {
        Some(note) => given_checkpoint(core, &note).await?,
        None => own_checkpoint(wired, org, before.chain.log()).await?,
    };
    let Some(known) = known else {
        // A log that is gone cannot be told from one that nobody can look at now.
        let logs = core.records.store().logs().await.map_err(|error| unread(&error))?;
        super::all_but(logs.unreached.len())?;
        print::line(format!(
            "{org} needs no new log: its log `{}` with {} deeds contains everything that was \
             signed for",
            before.chain.log(),
            before.chain.size()
        ));
        return Ok(Exit::Usage);
    };
    let signed = known.tree.size;
    let operator = core.operator(org);
    let recovered = operator.recover_log(known, reason.as_deref()).await;
    let recovered = recovered.map_err(|error| super::accounts::failure(&error))?;
    let (old, size) = (before.chain.log(), before.chain.size());
    print::line(format!("closed `{old}` with {size} deeds; {signed} were signed for"));
    let after = head(core, org).await?;
    let (log, deed) = (after.chain.log(), recovered.deed);
    print::line(format!("opened `{log}`, deed {deed}; running services use it automatically"));
    core.ledger.release(org);
    wired.checkpoints.sign_head(core, org, &after).await?;
    Ok(Exit::Ok)
}

async fn head(core: &Core, org: OrgId) -> Result<LogHead, Failure> {
    let head = core.records.store().head(org).await.map_err(|error| unread(&error))?;
    head.ok_or_else(|| Failure::usage(format!("there is no org `{org}`")))
}

/// The checkpoint that somebody kept, if its log does not hold it.
async fn given_checkpoint(core: &Core, note: &str) -> Result<Option<Checkpoint>, Failure> {
    let (keys, store) = (core.ledger.sealer().registered(), core.records.store());
    let known = Checkpoint::open_with(note, &keys)
        .map_err(|error| Failure::malformed(format!("the known checkpoint: {error}")))?;
    let logs = store.logs().await.map_err(|error| unread(&error))?;
    let judged = judge(store, &keys, &logs, &known).await.map_err(|error| unread(&error))?;
    Ok(match judged {
        Remembered::Held | Remembered::Told(_) => None,
        Remembered::Broken { .. } => Some(known),
    })
}

/// What this machine signed for that the org's open log does not hold.
async fn own_checkpoint(
    wired: &Wired,
    org: OrgId,
    open: &LogOrigin,
) -> Result<Option<Checkpoint>, Failure> {
    let missing = wired.checkpoints.missing(&wired.core).await?;
    let mine = || missing.iter().filter(|missing| missing.org == org);
    let lost = mine().filter(|missing| matches!(missing.why, Unsound::Log(_)));
    match lost.filter_map(|missing| missing.known.as_ref()).find(|known| known.log == *open) {
        Some(known) => Ok(Some(known.clone())),
        None => match mine().next() {
            // A new log can tell of the loss of the one that it follows, and of no other.
            Some(Missing { why, .. }) => {
                let folder = wired.checkpoints.folder().display();
                Err(Failure::usage(format!(
                    "{why}; no new log can record it. Keep its file in `{folder}` as evidence, \
                     move it away, and start again"
                )))
            }
            None => Ok(None),
        },
    }
}

fn unread(error: &ledger::StoreDown) -> Failure {
    Failure::internal(format!("the logs of deeds could not be read: {}", causes(error)))
}
