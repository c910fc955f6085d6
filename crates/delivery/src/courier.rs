//! Posts events to endpoints.
//!
//! An endpoint is served by one instance at a time, which claims its lane for as long as a try may
//! take and renews the claim with everything that it notes. First tries go one after the other, in
//! the order of commits; what is tried again goes beside them, a few at a time. Nothing is begun that
//! the claim might not outlive, so an event is posted twice only where an instance died between the
//! post and the note.
//!
//! A delivery that had all of its tries is dead once its org was told so. Until then it waits as if for
//! another try, and whoever serves the endpoint at that time tells it.

mod telling;
mod tries;

use std::{fmt, iter, sync::Arc, time::Duration};

use act::ActError;
use event::{Event, Types};
use futures_util::{FutureExt, future::join};
use ledger::{StoreDown, record::Webhook};
use model::{AgentId, Clock, DeliveryStatus, EventType, Timestamp, WebhookId, causes};
use serde_json::json;

use crate::{
    Aside, Claim, Delivery, Hold, Key, Lane, Limits, Lookout, Parts, SigningSecret, Try,
    WebhookError, endpoint::disabling, pages::Pages,
};

use self::{
    telling::TOLD_AGAIN_AFTER,
    tries::{Target, Tries},
};

/// How many deliveries are tried again at once.
const AGAIN: usize = 32;
/// After this long an endpoint gives its place to others.
const SERVED_FOR: Duration = Duration::from_secs(10);
/// How much longer than a try a claim is.
const MARGIN: Duration = Duration::from_secs(15);
/// For how long deliveries are kept.
const KEPT_FOR: Duration = Duration::from_hours(8 * 24);
const SWEPT_AT_ONCE: usize = 500;

/// Posts events to endpoints.
#[derive(Clone)]
pub struct Courier {
    parts: Parts,
    aside: Arc<dyn Aside>,
    pages: Arc<Pages>,
}

/// An endpoint that this instance serves.
#[derive(Debug)]
pub struct Claimed {
    claim: Claim,
    /// When the claim, or its last renewal, was asked for, as the process counts time.
    asked: Duration,
    time: StoreTime,
}

/// The store's time, carried on by this process's count: whatever happens to its wall clock must end no
/// endpoint, put off no try and make no signature too old.
#[derive(Debug, Clone, Copy)]
struct StoreTime {
    told: Timestamp,
    /// The count when it was told.
    then: Duration,
}

impl StoreTime {
    fn now(self, clock: &dyn Clock) -> Timestamp {
        self.told + clock.elapsed().saturating_sub(self.then)
    }
}

/// What serving an endpoint came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Worked {
    /// Tries that were taken.
    pub delivered: usize,
    /// Tries that were not.
    pub failed: usize,
    /// Deliveries that had their last try and were never taken.
    pub dead: usize,
    /// Endpoints that were disabled.
    pub disabled: usize,
}

impl Worked {
    fn add(&mut self, other: Self) {
        let Self { delivered, failed, dead, disabled } = other;
        self.delivered += delivered;
        self.failed += failed;
        self.dead += dead;
        self.disabled += disabled;
    }

    /// How often something was posted.
    pub fn tries(&self) -> usize {
        self.delivered + self.failed
    }
}

/// What an endpoint asked for.
pub(crate) struct Wanted {
    /// What any of them lets through.
    types: Vec<Types>,
    agent: Option<AgentId>,
    webhook: WebhookId,
}

impl Wanted {
    pub(crate) fn of(webhook: &Webhook) -> Self {
        let types = match webhook.types.as_slice() {
            [] => vec![Types::every()],
            // Another version may have kept a type that this one does not know. It asks for nothing here,
            // and least of all for what the endpoint's owner did not ask for.
            some => some.iter().filter_map(|word| Types::parse(word).ok()).collect(),
        };
        Self { types, agent: webhook.agent, webhook: webhook.id }
    }

    /// Whether an event is posted for what it tells. A ping is posted because somebody pinged, and that
    /// an endpoint never took something is told to others.
    pub(crate) fn covers(&self, event: &Event) -> bool {
        let is_own_dead = || event.object.get("webhook_endpoint") == Some(&json!(self.webhook));
        let is_told = match event.kind {
            EventType::WebhookPing => false,
            EventType::WebhookDeliveryDead => !is_own_dead(),
            _ => true,
        };
        let is_agents = self.agent.is_none_or(|agent| event.agent == Some(agent));
        is_told && is_agents && self.types.iter().any(|types| types.cover(event.kind))
    }
}

impl fmt::Debug for Courier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Courier").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl Courier {
    /// The courier of an instance, which makes first tries there.
    pub fn new(parts: Parts, aside: Arc<dyn Aside>) -> Self {
        Self { parts, aside, pages: Arc::default() }
    }

    /// Whether any endpoint may have something to do. Where there was none a moment ago, that is not
    /// asked again.
    pub async fn has_endpoints(&self, lookout: &mut Lookout) -> Result<bool, StoreDown> {
        let now = self.parts.clock.elapsed();
        if let Some(any) = lookout.believed(now) {
            return Ok(any);
        }
        let any = self.parts.store.has_open_lanes().await?;
        *lookout = Lookout::found(any, now);
        Ok(any)
    }

    /// Returns up to so many endpoints that have something to do and that nobody serves: of those
    /// that fail, or of the others.
    pub async fn waiting(&self, failing: bool, most: usize) -> Result<Vec<Key>, StoreDown> {
        self.parts.store.waiting_endpoints((failing, self.parts.limits.disable_after), most).await
    }

    /// Claims an endpoint; nothing when somebody else was faster.
    pub async fn claim(&self, key: Key) -> Result<Option<Claimed>, StoreDown> {
        let asked = self.parts.clock.elapsed();
        let claim = self.parts.store.claim(key, self.lease()).await?;
        let _ = failpoint::hit("webhook.claimed");
        Ok(claim.map(|claim| {
            let claim = Claim { lane: claim.lane.of(&claim.webhook), ..claim };
            // What the answer took is counted as having passed since.
            let time = StoreTime { told: claim.now, then: asked };
            Claimed { claim, asked, time }
        }))
    }

    /// Serves a claimed endpoint until nothing is left to do, others are to have their turn, or
    /// whoever asks wants it to end.
    pub async fn serve(
        &self,
        mut claimed: Claimed,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Worked, StoreDown> {
        let mut worked = Worked::default();
        let end = claimed.asked + SERVED_FOR;
        loop {
            let judged = self.judge(&mut claimed, &mut worked).await?;
            if judged == Judged::Disabled {
                break;
            }
            // Each round looks at the endpoint as it stands: another address is posted to and another
            // secret signs from then on, and one that was replaced signs no longer than it may.
            let Some(target) = self.target(&claimed) else {
                // The claim ends by itself: nothing can be posted before somebody has mended the vault.
                return Ok(worked);
            };
            let round = self.round(&claimed, target).await?;
            worked.add(round.worked);
            let is_failed = self.parts.limits.is_failed(&round.lane);
            // What cannot be disabled now is looked at once for each lease, and not at every look.
            let is_put_off = is_failed && judged == Judged::PutOff;
            let is_time = goes_on() && self.parts.clock.elapsed() < end;
            let goes_on = round.is_more && is_time && !is_put_off;
            // It is let go once it is judged, so that nobody else has posted in between.
            let is_held = goes_on || is_failed;
            let hold = if is_held { Hold::For(self.lease()) } else { Hold::LetGo };
            let noted = self.note(&mut claimed, &round, hold).await?;
            let _ = failpoint::hit("webhook.noted");
            let Some((noted, told)) = noted else { return Ok(worked) };
            worked.dead += told;
            claimed.claim.go_on(round.lane, noted);
            if goes_on {
                continue;
            }
            if is_failed && !is_put_off {
                let judged = self.judge(&mut claimed, &mut worked).await?;
                if judged == Judged::Stands {
                    let lane = claimed.claim.lane;
                    self.write(&mut claimed, (&lane, &[]), Hold::LetGo).await?;
                }
            }
            break;
        }
        Ok(worked)
    }

    /// Disables the endpoint where it failed for too long, and lets the claim go then.
    async fn judge(&self, claimed: &mut Claimed, worked: &mut Worked) -> Result<Judged, StoreDown> {
        let lane = claimed.claim.lane;
        if !self.parts.limits.is_failed(&lane) {
            return Ok(Judged::Stands);
        }
        let Some(disabled) = self.disable(&claimed.claim).await else { return Ok(Judged::PutOff) };
        worked.disabled += disabled;
        self.write(claimed, (&lane, &[]), Hold::LetGo).await?;
        Ok(Judged::Disabled)
    }

    /// Drops what waits for endpoints that are disabled or deleted, and forgets what is old. Says how
    /// much it did, and does as much again when that was a full part.
    pub async fn sweep(&self) -> Result<usize, StoreDown> {
        let mut all = 0;
        loop {
            let swept = self.parts.store.sweep_deliveries(KEPT_FOR, SWEPT_AT_ONCE).await?;
            all += swept;
            if swept < SWEPT_AT_ONCE {
                return Ok(all);
            }
        }
    }

    fn lease(&self) -> Duration {
        lease(&self.parts.limits)
    }

    /// Does this where nobody waits for what runs beside it.
    async fn aside<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        let (work, done) = work.remote_handle();
        self.aside.run(work.boxed());
        done.await
    }

    fn target(&self, Claimed { claim, time, .. }: &Claimed) -> Option<Target> {
        let ((org, id), time) = (claim.key(), *time);
        let open = |sealed: &str| SigningSecret::open(&self.parts.vault, (org, id), sealed);
        let mut sealed = claim.webhook.sealed_secrets(time.now(&*self.parts.clock)).map(open);
        let current = sealed.next()?.inspect_err(|error| {
            tracing::error!(%org, webhook = %id, error = causes(error),
                "nothing is posted to an endpoint whose signing secret cannot be decrypted");
        });
        // A previous secret that is lost keeps no event from the receivers that know the current one.
        let secrets = iter::once(current.ok()?).chain(sealed.filter_map(Result::ok)).collect();
        let (url, wanted) = (claim.webhook.url.clone(), Wanted::of(&claim.webhook));
        Some(Target { org, id, url, secrets, wanted, time })
    }

    async fn round(&self, claimed: &Claimed, target: Target) -> Result<Round, StoreDown> {
        let (lane, time, org) = (claimed.claim.lane, target.time, target.org);
        let tries = Tries::new((&self.parts, &self.aside), target, claimed.asked);
        let from = (&*self.parts.events, &*self.parts.clock);
        let page = self.pages.after(from, (org, lane.seq)).await?;
        let due = if claimed.claim.is_due {
            self.parts.store.due_deliveries(claimed.claim.key(), AGAIN).await?
        } else {
            Vec::new()
        };
        let is_full = due.len() == AGAIN;
        let (untold, due): (Vec<_>, Vec<_>) = due.into_iter().partition(|it| self.is_untold(it));
        let first = self.aside(tries.clone().first(lane.seq, Arc::clone(&page)));
        let ((seq, mut deliveries), (again, is_read)) = join(first, tries.again(&due)).await;
        // While events cannot be read, looking at them at once once more would change nothing.
        let is_more = is_read && (!page.ends_at(seq) || again.len() < due.len() || is_full);
        deliveries.extend(again);
        let lane = fared(Lane { seq, ..lane }, &deliveries, &self.parts.limits);
        let worked = counted(&deliveries);
        // What another round left to be told was not tried in this one.
        let next_at = Some(time.now(&*self.parts.clock) + TOLD_AGAIN_AFTER);
        deliveries.extend(untold.into_iter().map(|it| Delivery { next_at, ..it }));
        let untold = deliveries.iter().filter(|it| self.is_untold(it));
        let dead =
            |it: &Delivery| Delivery { status: DeliveryStatus::Dead, next_at: None, ..it.clone() };
        let dead = untold.map(dead).collect();
        Ok(Round { lane, deliveries, dead, worked, is_more })
    }

    /// Disables the endpoint if it still stands as it was claimed, and returns how many were disabled;
    /// nothing where that cannot be recorded now.
    async fn disable(&self, claim: &Claim) -> Option<usize> {
        let (org, id) = claim.key();
        let disabled: Result<_, WebhookError> =
            disabling((org, id), claim.webhook.revision).enter(&self.parts.ledger, org).await;
        match disabled {
            Ok(_) => {
                tracing::warn!(%org, webhook = %id, "an endpoint that accepted nothing was disabled");
                Some(1)
            }
            // Somebody changed it meanwhile. The next claim judges it as it is by then.
            Err(WebhookError::Act(ActError::Conflict(_) | ActError::NotFound(_))) => Some(0),
            Err(error) => {
                // Its next claim finds it as it is.
                tracing::warn!(%org, webhook = %id, error = causes(&error),
                    "an endpoint that accepted nothing could not be disabled");
                None
            }
        }
    }
}

/// A claim outlives the longest try that is begun before what was done is noted.
fn lease(limits: &Limits) -> Duration {
    limits.timeout + MARGIN
}

/// What an endpoint came to be by its failed attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judged {
    /// It goes on.
    Stands,
    /// It was disabled, or somebody changed it meanwhile.
    Disabled,
    /// It failed for too long, and that could not be recorded.
    PutOff,
}

/// What one round did.
struct Round {
    lane: Lane,
    /// The deliveries in their new form. Those that are to be told dead wait for that.
    deliveries: Vec<Delivery>,
    /// Those of them that are to be told dead, as they stand once that is told.
    dead: Vec<Delivery>,
    worked: Worked,
    is_more: bool,
}

/// Counts what was tried. What had its last try is counted as dead when that is told.
fn counted(deliveries: &[Delivery]) -> Worked {
    let mut worked = Worked::default();
    for delivery in deliveries {
        match delivery.status {
            DeliveryStatus::Delivered => worked.delivered += 1,
            DeliveryStatus::Retrying => worked.failed += 1,
            DeliveryStatus::Dead => {
                worked.failed += 1;
                worked.dead += 1;
            }
            DeliveryStatus::Pending | DeliveryStatus::Dropped => {}
        }
    }
    worked
}

/// The lane after these attempts, in the order in which they ended.
fn fared(mut lane: Lane, deliveries: &[Delivery], limits: &Limits) -> Lane {
    let ended = |tried: &Try| tried.at + Duration::from_millis(tried.duration_ms);
    // What was dropped was not tried.
    let posted = deliveries.iter().filter(|it| it.status != DeliveryStatus::Dropped);
    let mut last: Vec<_> = posted.filter_map(|it| Some((it, it.tries.last()?))).collect();
    last.sort_by_key(|(_, tried)| ended(tried));
    for (delivery, tried) in last {
        if tried.error_class.is_none() {
            lane.accepted(tried.at);
        } else {
            lane.failed(delivery, tried.at, limits);
        }
    }
    lane
}
