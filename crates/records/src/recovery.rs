//! What a database says to a checkpoint that somebody kept: that its log goes on from there, that
//! a sealed deed tells of the loss, or neither.
//!
//! Whoever can write to the database cannot make it say the second: the deed that tells of a loss
//! is signed, and is the first of the log that follows.

use deed::{Body, Checkpoint, KeySet, Recovered};
use ledger::StoreDown;
use model::OrgId;

use crate::{
    guard::{LogError, compare},
    store::{LogHead, LogSize, LogStore, Logs, OrgLog, Standing},
    walk::{Before, Judge},
};

/// What became of what a checkpoint vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remembered {
    /// Its log holds it.
    Held,
    /// Its log was closed without it, and the first deed of the log that follows says so.
    Told(Recovered),
    /// Its log does not hold it.
    Broken {
        /// The org whose log it is; nobody's where the log is gone.
        org: Option<OrgId>,
        /// In what way.
        broken: LogError,
    },
}

/// What became of what the checkpoint vouches for. `logs` are all that the store has.
pub async fn judge(
    store: &dyn LogStore,
    keys: &KeySet,
    logs: &Logs,
    known: &Checkpoint,
) -> Result<Remembered, StoreDown> {
    let log = known.log.clone();
    let Some(found) = logs.named(&log)? else {
        return Ok(Remembered::Broken { org: None, broken: LogError::Gone { log } });
    };
    let org = found.of.org;
    let broken = match found.standing {
        // A head that was cut by hand may not be readable; its size says enough.
        Standing::Open if found.size < known.tree.size => {
            let (size, signed) = (found.size, known.tree.size);
            Some(LogError::Shorter { log, size, signed })
        }
        Standing::Open => match store.head(org).await? {
            Some(head) => compare(store, org, &head, known).await?,
            None => Some(LogError::Gone { log }),
        },
        Standing::Closed { .. } => {
            let head = store.closed(org).await?.into_iter().find(|head| head.no == found.of.no);
            let next = logs.sizes.iter().find(|next| next.of == after(found.of));
            let (Some(head), Some(next)) = (head, next) else {
                return Ok(Remembered::Broken { org: Some(org), broken: LogError::Gone { log } });
            };
            return closed(store, keys, (&head, next), known).await;
        }
    };
    Ok(match broken {
        None => Remembered::Held,
        Some(broken) => Remembered::Broken { org: Some(org), broken },
    })
}

async fn closed(
    store: &dyn LogStore,
    keys: &KeySet,
    (head, next): (&LogHead, &LogSize),
    known: &Checkpoint,
) -> Result<Remembered, StoreDown> {
    let org = next.of.org;
    match told(store, keys, next).await? {
        Some(told) if told.log == known.log && told.tree() == Checkpoint::of(&head.chain).tree => {
            let broken = compare(store, org, head, known).await?;
            Ok(broken.map_or(Remembered::Held, |_| Remembered::Told(told)))
        }
        Some(_) | None => {
            let broken = LogError::Untold { log: known.log.clone() };
            Ok(Remembered::Broken { org: Some(org), broken })
        }
    }
}

/// What the first deed of a log tells of the log before it, if it is one that does and
/// holds by itself.
pub(crate) async fn told(
    store: &dyn LogStore,
    keys: &KeySet,
    log: &LogSize,
) -> Result<Option<Recovered>, StoreDown> {
    let rows = store.rows(log.of, 0, 1).await?;
    let judge = Judge { org: log.of.org, log: &log.log, keys };
    if judge.rows((0, 1), Before::Beginning, &rows).is_some() {
        return Ok(None);
    }
    let body = rows.first().and_then(|row| Body::read(row.body.as_bytes()).ok());
    Ok(body.as_ref().and_then(Recovered::told_by))
}

fn after(log: OrgLog) -> OrgLog {
    OrgLog { no: log.no.next(), ..log }
}
