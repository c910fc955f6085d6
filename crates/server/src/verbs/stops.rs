//! `agent` and `org`, as far as they hold somebody back: read by whoever was woken for it, so each
//! says what is so now and what of it goes on.

use act::Changed;
use ledger::record::Agent;
use model::{AgentId, OrgId, PendingApprovals, causes};

use super::{
    accounts::{agent_of, failure},
    org_of,
};
use crate::{
    cli,
    core::Core,
    exit::{Exit, Failure},
    print,
};

/// How many calls that are under way are named.
const NAMED: usize = 20;

pub(super) async fn stop(core: &Core, what: cli::StopAgent) -> Result<Exit, Failure> {
    let cli::StopAgent { approvals, one } = what;
    let (org, id) = meant(core, &one).await?;
    let waiting = approvals.waiting();
    let stopped = core.operator(org).stop_agent(id, &one.by.reason, waiting).await;
    told(&stopped.map_err(|error| failure(&error))?, "is stopped; no further call of it starts");
    tell_approvals(waiting);
    tell_under_way(core, org, Some(id)).await;
    Ok(Exit::Ok)
}

pub(super) async fn start(core: &Core, one: cli::OneAgent) -> Result<Exit, Failure> {
    let (org, id) = meant(core, &one).await?;
    let started = core.operator(org).start_agent(id, &one.by.reason).await;
    let started = started.map_err(|error| failure(&error))?;
    told(&started, "is started");
    if let Some(held) = &started.object.suspension {
        let until = held.until.map_or_else(|| "it is resumed".to_owned(), |at| at.to_string());
        print::line(format!("It is still suspended ({}) until {until}.", held.reason));
    }
    let stop = core.stores.accounts.org(org).await.ok().flatten().and_then(|org| org.stop);
    if let Some(stop) = stop {
        let why = stop.reason;
        print::line(format!("The whole org is still stopped ({why}): run `chancery org start`."));
    }
    Ok(Exit::Ok)
}

pub(super) async fn suspend(core: &Core, what: cli::SuspendAgent) -> Result<Exit, Failure> {
    let cli::SuspendAgent { until, one } = what;
    let (org, id) = meant(core, &one).await?;
    let now = core.stores.ledger.base(org).await;
    let now = now.map_err(|error| Failure::internal(causes(&error)))?.1;
    let until = until.map(|until| until.from(now));
    let suspended = core.operator(org).suspend_agent(id, &one.by.reason, until).await;
    let suspended = suspended.map_err(|error| failure(&error))?;
    match until {
        Some(until) => told(&suspended, &format!("is suspended until {until}")),
        None => told(&suspended, "is suspended until it is resumed"),
    }
    tell_under_way(core, org, Some(id)).await;
    Ok(Exit::Ok)
}

pub(super) async fn resume(core: &Core, one: cli::OneAgent) -> Result<Exit, Failure> {
    let (org, id) = meant(core, &one).await?;
    let resumed = core.operator(org).resume_agent(id, &one.by.reason).await;
    let resumed = resumed.map_err(|error| failure(&error))?;
    told(&resumed, "is resumed");
    if let Some(stop) = &resumed.object.stop {
        print::line(format!("It is still stopped ({}): run `chancery agent start`.", stop.reason));
    }
    Ok(Exit::Ok)
}

pub(super) async fn archive(core: &Core, one: cli::OneAgent) -> Result<Exit, Failure> {
    let (org, id) = meant(core, &one).await?;
    let archived = core.operator(org).archive_agent(id, &one.by.reason).await;
    told(&archived.map_err(|error| failure(&error))?, "is archived, and its keys are revoked");
    tell_approvals(PendingApprovals::Void);
    tell_under_way(core, org, Some(id)).await;
    Ok(Exit::Ok)
}

pub(super) async fn stop_org(core: &Core, what: cli::StopOrg) -> Result<Exit, Failure> {
    let cli::StopOrg { approvals, by } = what;
    let org = org_of(core, by.org).await?;
    let waiting = approvals.waiting();
    let stopped = core.operator(org).stop_org(&by.reason, waiting).await;
    let stopped = stopped.map_err(|error| failure(&error))?;
    let (name, deed) = (&stopped.object.name, stopped.deed);
    print::line(format!("{org} ({name}) is stopped; no further call of any agent starts"));
    print::line(format!("Deed {deed}."));
    tell_approvals(waiting);
    tell_under_way(core, org, None).await;
    Ok(Exit::Ok)
}

pub(super) async fn start_org(core: &Core, by: cli::ByReason) -> Result<Exit, Failure> {
    let org = org_of(core, by.org).await?;
    let started = core.operator(org).start_org(&by.reason).await;
    let started = started.map_err(|error| failure(&error))?;
    let (name, deed) = (&started.object.name, started.deed);
    print::line(format!("{org} ({name}) is started"));
    print::line(format!("Deed {deed}."));
    print::line(
        "Agents that were stopped individually stay stopped: `chancery agent list --status \
         stopped`.",
    );
    Ok(Exit::Ok)
}

async fn meant(core: &Core, one: &cli::OneAgent) -> Result<(OrgId, AgentId), Failure> {
    let org = org_of(core, one.by.org).await?;
    Ok((org, agent_of(core, org, &one.agent).await?))
}

fn told(done: &Changed<Agent>, what: &str) {
    let Agent { id, name, .. } = &done.object;
    print::line(format!("{id} ({name}) {what}"));
    print::line(format!("Deed {}.", done.deed));
}

fn tell_approvals(waiting: PendingApprovals) {
    print::line(match waiting {
        PendingApprovals::Void => {
            "Pending approval requests are void; the actions that waited for them are denied."
        }
        PendingApprovals::Keep => "Actions that wait for approval continue to wait.",
    });
}

/// Names the calls that had started before. The change holds whether they can be read or not.
async fn tell_under_way(core: &Core, org: OrgId, agent: Option<AgentId>) {
    let found = match core.gate.under_way(org, agent, NAMED).await {
        Ok(found) => found,
        Err(error) => {
            let why = causes(&error);
            print::complaint(format!("Calls that had started before could not be read: {why}"));
            return;
        }
    };
    if found.count == 0 {
        print::line("No call that had started before is still running.");
        return;
    }
    let calls =
        if found.count == 1 { "1 call".to_owned() } else { format!("{} calls", found.count) };
    print::line(format!("{calls} had started before and will run to the end:"));
    for id in &found.actions {
        if let Ok(Some(action)) = core.gate.action(org, *id).await {
            let (tool, name, since) = (&action.tool, &action.agent.name, action.created_at);
            print::line(format!("  {id}  {tool}  by {name}  since {since}"));
        }
    }
    if found.count > found.actions.len() {
        print::line("  and others that started later");
    }
}
