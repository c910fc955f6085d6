//! Says once when something that the service needs is away, and once when it is back: the control
//! database, a node of it that has some of the orgs, each connector that calls go through, and the
//! mail server.
//!
//! What fails meanwhile says so by itself, at every call; these are the lines that an operator is
//! alerted by.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use connectors::{InUse, Standing};
use model::{ConnectorId, ErrorCode, Fault, causes};
use people::Post;
use store_postgres::{PostgresStore, Survey};
use tokio::time::Instant;

use crate::adapters::OrgTools;

/// So many looks in a row without an answer are an outage; a single one may be a busy moment.
const MISSES: u32 = 2;
/// How long after a check of the way of mails the next one is made, while there is a reason for one.
const CHECK_MAIL_AFTER: Duration = Duration::from_secs(5);
/// The same after many that failed: whoever tries a wrong password all the time is locked out.
const CHECK_MAIL_SELDOM: Duration = Duration::from_mins(5);

/// What is looked at, and how it was found last.
pub struct Outages {
    store: Arc<PostgresStore>,
    /// Where connectors are.
    pub(crate) tools: Arc<OrgTools>,
    /// Who sends mails; nobody where the settings name no way.
    pub(crate) post: Option<Arc<Post>>,
    /// Where the control database is, as the log names it.
    place: String,
    database_is_down: AtomicBool,
    orgs: Mutex<Sight>,
}

/// How all orgs were when they were last looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Sight {
    /// They were not looked at yet, or the database itself is away.
    #[default]
    Unknown,
    /// They were.
    Seen(Survey),
    /// The database answers, and a question to all orgs fails.
    Failed,
}

impl Sight {
    /// How many orgs could not be reached, as far as that is known.
    pub(crate) fn unreached(self) -> usize {
        match self {
            Self::Seen(survey) => survey.unreached,
            Self::Unknown | Self::Failed => 0,
        }
    }
}

impl fmt::Debug for Outages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outages").field("place", &self.place).finish_non_exhaustive()
    }
}

/// What a look is compared with: since when something is away.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    database: Option<Instant>,
    misses: u32,
    connectors: HashMap<ConnectorId, ErrorCode>,
}

/// How the orgs were at the last look, and since when not all of them could be reached.
#[derive(Debug, Default)]
pub(crate) struct OrgsSeen {
    last: Sight,
    since: Option<Instant>,
    misses: u32,
}

/// When the way of mails was checked last, and since when none would be taken.
#[derive(Debug, Default)]
pub(crate) struct MailSeen {
    checked: Option<Instant>,
    failed: u32,
    stuck: Option<Instant>,
}

/// What changed between two looks at the control database, or at the way of mails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Gone,
    Back { after: Duration },
}

impl Outages {
    pub(crate) fn new(
        store: Arc<PostgresStore>,
        (tools, post): (Arc<OrgTools>, Option<Arc<Post>>),
        place: String,
    ) -> Self {
        let (database_is_down, orgs) = (AtomicBool::new(false), Mutex::new(Sight::Unknown));
        Self { store, tools, post, place, database_is_down, orgs }
    }

    /// How all orgs were when they were last looked at.
    pub(crate) fn orgs(&self) -> Sight {
        *self.orgs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at all orgs, and says what changed. A node that does not even refuse a connection takes a
    /// while to be given up, so nothing else waits for this.
    pub(crate) async fn look_at_orgs(&self, seen: &mut OrgsSeen) {
        let (sight, cause) = match self.store.survey().await {
            Ok(survey) => (Sight::Seen(survey), String::new()),
            // The line about the database says the rest.
            Err(_) if self.store.pulse().await.is_err() => (Sight::Unknown, String::new()),
            Err(down) => (Sight::Failed, causes(&down)),
        };
        seen.misses = if sight == Sight::Failed { seen.misses.saturating_add(1) } else { 0 };
        if (1..MISSES).contains(&seen.misses) {
            return;
        }
        *self.orgs.lock().unwrap_or_else(PoisonError::into_inner) = sight;
        tell_of_orgs(seen, sight, &cause);
    }

    /// Whether the control database was down when it was last looked at.
    pub(crate) fn database_is_down(&self) -> bool {
        self.database_is_down.load(Relaxed)
    }

    /// Looks once, and says what changed.
    pub(crate) async fn look(&self, seen: &mut Seen) {
        let cause = match self.store.pulse().await {
            Ok(pulse) if pulse.takes_writes => None,
            Ok(_) => Some("it accepts no writes: it is a standby, or was set read-only".to_owned()),
            Err(down) => Some(causes(&down)),
        };
        seen.misses = if cause.is_some() { seen.misses.saturating_add(1) } else { 0 };
        let cause = cause.filter(|_| seen.misses >= MISSES);
        self.database_is_down.store(cause.is_some(), Relaxed);
        let database = &*self.place;
        match (turned(&mut seen.database, cause.is_some()), cause) {
            (Some(Change::Gone), Some(cause)) => tracing::error!(
                database,
                cause,
                "the control database is down: calls receive 503 until it is available again"
            ),
            (Some(Change::Back { after }), _) => {
                tracing::info!(database, ?after, "the control database is available again");
            }
            (Some(Change::Gone) | None, _) => {}
        }
        let in_use = self.tools.in_use(|_, id, standing| {
            matches!(standing, Standing::Lost(_)) || seen.connectors.contains_key(&id)
        });
        tell(&mut seen.connectors, in_use);
    }

    /// Looks whether mails leave, and says what changed.
    pub(crate) async fn look_at_mail(&self, seen: &mut MailSeen) {
        let Some(post) = &self.post else { return };
        if is_to_be_checked(post, seen) {
            seen.checked = Some(Instant::now());
            let found = post.check().await;
            seen.failed = if found.is_ok() { 0 } else { seen.failed.saturating_add(1) };
        }
        let cause = post.leaving().trouble();
        match (turned(&mut seen.stuck, cause.is_some()), cause) {
            (Some(Change::Gone), Some(cause)) => {
                tracing::warn!(
                    cause,
                    "mail cannot be sent: nobody receives mail, and nobody can sign in"
                );
            }
            (Some(Change::Back { after }), _) => tracing::info!(?after, "mail is sent again"),
            (Some(Change::Gone) | None, _) => {}
        }
    }
}

/// Whether there is a reason to check the way of mails: it never was, a mail has to wait, or the last
/// check failed.
fn is_to_be_checked(post: &Post, seen: &MailSeen) -> bool {
    let is_doubtful = post.is_suspect() || seen.failed > 0;
    let again = 1 << seen.failed.saturating_sub(1).min(8);
    let wait = CHECK_MAIL_AFTER.saturating_mul(again).min(CHECK_MAIL_SELDOM);
    seen.checked.is_none_or(|at| is_doubtful && at.elapsed() >= wait)
}

/// What changed for something that was away since then, if at all, and is or is not now.
fn turned(since: &mut Option<Instant>, is_down: bool) -> Option<Change> {
    match (*since, is_down) {
        (None, true) => {
            *since = Some(Instant::now());
            Some(Change::Gone)
        }
        (Some(at), false) => {
            *since = None;
            Some(Change::Back { after: at.elapsed() })
        }
        (None, false) | (Some(_), true) => None,
    }
}

/// Says that some orgs cannot be reached, whenever their number changes, and that all are again.
fn tell_of_orgs(seen: &mut OrgsSeen, sight: Sight, cause: &str) {
    let before = std::mem::replace(&mut seen.last, sight);
    let is_whole = match sight {
        Sight::Unknown => return,
        Sight::Seen(survey) => survey.unreached == 0,
        Sight::Failed => false,
    };
    let change = turned(&mut seen.since, !is_whole);
    let is_new = (before.unreached(), before == Sight::Failed)
        != (sight.unreached(), sight == Sight::Failed);
    match (sight, change) {
        (_, Some(Change::Back { after })) => {
            tracing::info!(?after, "all orgs are reachable again");
        }
        (Sight::Failed, Some(Change::Gone)) => {
            tracing::error!(
                cause,
                "the control database does not respond to a query about all orgs"
            );
        }
        (Sight::Seen(survey), _) if is_new && !is_whole => tracing::error!(
            orgs = survey.unreached,
            "orgs are unreachable: a node of the control database is unavailable. Their calls \
             receive 503; the other orgs are not affected"
        ),
        _ => {}
    }
}

/// Says which connectors went out of reach, for which reason, and which are reached again. One that
/// nobody calls any more is forgotten without a word.
fn tell(lost: &mut HashMap<ConnectorId, ErrorCode>, in_use: Vec<InUse>) {
    lost.retain(|id, _| in_use.iter().any(|it| it.id == *id));
    for InUse { org, id, name, standing, .. } in in_use {
        match standing {
            Standing::Lost(Fault { code, message }) => {
                if lost.insert(id, code.clone()).as_ref() != Some(&code) {
                    tracing::warn!(
                        %org, connector = %id, %name, reason = code.as_str(), cause = message,
                        "a connector is unreachable"
                    );
                }
            }
            Standing::Reached => {
                if lost.remove(&id).is_some() {
                    tracing::info!(%org, connector = %id, %name, "a connector is reachable again");
                }
            }
            Standing::Untried => {}
        }
    }
}

#[cfg(test)]
mod tests;
