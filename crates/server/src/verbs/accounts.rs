//! `org`, `agent` and `key`: makes accounts, each by the same use case as the routes.

use act::ActError;
use admin::{
    AgentEdit, ChangeError, Expected, KeyMode, NewAgent, NewKey, NewOrg, OrgAsRun, OrgEdit,
    PolicyError, Wish,
};
use model::{AgentId, OrgId, Scope, Timestamp, causes};

use super::{described, lists, org_of, stops};
use crate::{
    cli,
    core::Core,
    exit::{Exit, Failure},
    print,
};

pub(super) async fn org(core: &Core, what: cli::Org) -> Result<Exit, Failure> {
    match what {
        cli::Org::Create { name, time_zone } => {
            let made = core.deployment().create_org(NewOrg { name, time_zone }).await;
            let made = made.map_err(|error| policy_failure(&error))?;
            print::line(described(&made.org));
        }
        cli::Org::List(form) => return lists::all_orgs(core, form).await,
        cli::Org::Stop(what) => return stops::stop_org(core, what).await,
        cli::Org::Start(what) => return stops::start_org(core, what).await,
        cli::Org::Set(what) => return set_org(core, what).await,
    }
    Ok(Exit::Ok)
}

async fn set_org(core: &Core, what: cli::SetOrg) -> Result<Exit, Failure> {
    let cli::SetOrg { name, time_zone, retention_days, approvals_expire_in, .. } = what;
    let edit = OrgEdit {
        name,
        time_zone,
        retention_days,
        default_expires_in: wish(approvals_expire_in, what.no_approvals_expire_in),
        require_other_person: what.require_other_person,
        allow_single_member: what.allow_single_member,
        policy_two_person: what.policy_two_person,
        expected_revision: what.expected_revision.map_or(Expected::Anything, Expected::Exactly),
    };
    let org = org_of(core, what.org).await?;
    let set = core.deployment().own(org).update_org(edit).await;
    let set = set.map_err(|error| failure(&error))?;
    let (OrgAsRun { org, revision, .. }, deed) = (set.object, set.deed);
    print::line(format!("{} {} is at revision {revision}, deed {deed}", org.id, org.name));
    Ok(Exit::Ok)
}

pub(super) async fn agent(core: &Core, what: cli::Agent) -> Result<Exit, Failure> {
    match what {
        cli::Agent::List(what) => lists::agents(core, what).await,
        cli::Agent::Create(what) => create_agent(core, what).await,
        cli::Agent::Set(what) => set_agent(core, what).await,
        cli::Agent::Stop(what) => stops::stop(core, what).await,
        cli::Agent::Start(what) => stops::start(core, what).await,
        cli::Agent::Suspend(what) => stops::suspend(core, what).await,
        cli::Agent::Resume(what) => stops::resume(core, what).await,
        cli::Agent::Archive(what) => stops::archive(core, what).await,
    }
}

async fn create_agent(core: &Core, what: cli::CreateAgent) -> Result<Exit, Failure> {
    let cli::CreateAgent { name, label, intent_mode, mode, owner, expires, org } = what;
    let org = org_of(core, org).await?;
    let now = now(core, org).await?;
    let labels = label.into_iter().collect();
    let new = NewAgent { labels, intent_mode, owner, ..NewAgent::named(name) };
    let modes = if mode.is_empty() { new.modes.clone() } else { mode };
    let new = NewAgent { modes, expires_at: expires.map(|when| when.from(now)), ..new };
    let agent = core.operator(org).create_agent(new).await.map_err(|error| failure(&error))?.object;
    print::line(format!("{} {}", agent.id, agent.name));
    Ok(Exit::Ok)
}

async fn set_agent(core: &Core, what: cli::SetAgent) -> Result<Exit, Failure> {
    let cli::SetAgent { agent, name, description, label, intent_mode, mode, owner, .. } = what;
    let org = org_of(core, what.org).await?;
    let now = now(core, org).await?;
    let edit = AgentEdit {
        name,
        description,
        labels: (!label.is_empty()).then(|| label.into_iter().collect()),
        intent_mode,
        modes: (!mode.is_empty()).then_some(mode),
        owner: wish(owner, what.no_owner),
        expires_at: wish(what.expires.map(|when| when.from(now)), what.no_expiry),
        ..AgentEdit::default()
    };
    let id = agent_of(core, org, &agent).await?;
    let changed = core.operator(org).update_agent(id, edit).await;
    let agent = changed.map_err(|error| failure(&error))?.object;
    print::line(format!("{} {} is at revision {}", agent.id, agent.name, agent.revision));
    Ok(Exit::Ok)
}

fn wish<T>(becomes: Option<T>, goes: bool) -> Wish<T> {
    let unnamed = if goes { Wish::Goes } else { Wish::Stays };
    becomes.map_or(unnamed, Wish::Becomes)
}

/// The database's time.
async fn now(core: &Core, org: OrgId) -> Result<Timestamp, Failure> {
    let base = core.stores.ledger.base(org).await;
    Ok(base.map_err(|error| Failure::internal(causes(&error)))?.1)
}

pub(super) async fn key(core: &Core, what: cli::Key) -> Result<Exit, Failure> {
    match what {
        cli::Key::Create(what) => create_key(core, what).await,
        cli::Key::List(what) => lists::keys(core, what).await,
        cli::Key::Revoke { id, org } => {
            let org = org_of(core, org).await?;
            let revoked = core.operator(org).revoke_key(id).await;
            revoked.map_err(|error| failure(&error))?;
            print::line(format!("{id} is revoked"));
            Ok(Exit::Ok)
        }
        // Being wired up was all that it takes.
        cli::Key::AdoptPepper => {
            print::line(
                "the record now uses this pepper: restart every instance with it; API keys that \
                 were created under another pepper must be created again",
            );
            Ok(Exit::Ok)
        }
    }
}

async fn create_key(core: &Core, what: cli::CreateKey) -> Result<Exit, Failure> {
    let org = org_of(core, what.org).await?;
    let operator = core.operator(org);
    let now = now(core, org).await?;
    let mut new = NewKey {
        name: what.name,
        scopes: vec![if what.holder.read_only { Scope::AdminRead } else { Scope::Admin }],
        mode: if what.test { KeyMode::Test } else { KeyMode::Live },
        expires_at: what.expires.map(|when| when.from(now)),
    };
    let made = match what.holder.agent {
        Some(agent) => {
            let both = vec![cli::AgentScope::Execute, cli::AgentScope::Read];
            let scopes = if what.scope.is_empty() { both } else { what.scope };
            new.scopes = scopes.into_iter().map(cli::AgentScope::scope).collect();
            operator.create_agent_key(agent_of(core, org, &agent).await?, new).await
        }
        None => operator.create_org_key(new).await,
    };
    let made = made.map_err(|error| failure(&error))?;
    // The text alone stands on standard output, so that a script can take it from there.
    print::complaint(format!("{}: save this key, it is shown only once:", made.key.object.id));
    print::line(made.text.secret().expose());
    Ok(Exit::Ok)
}

pub(super) async fn agent_of(core: &Core, org: OrgId, named: &str) -> Result<AgentId, Failure> {
    let accounts = &core.stores.accounts;
    let by_id = match named.parse() {
        Ok(id) => accounts.agent(org, id).await,
        Err(_) => Ok(None),
    };
    let found = match by_id {
        // A name may look like an id.
        Ok(None) => accounts.agent_named(org, named).await,
        found => found,
    };
    let found = found.map_err(|error| Failure::internal(causes(&error)))?;
    found.map(|agent| agent.id).ok_or_else(|| {
        Failure::usage(format!(
            "the org has no agent `{named}`; `chancery agent list` lists its agents"
        ))
    })
}

/// The failure that a change ended in: the operator's or the service's.
pub(crate) fn failure(error: &ChangeError) -> Failure {
    match error {
        ChangeError::Act(
            ActError::BadInput { .. }
            | ActError::NotFound(_)
            | ActError::Conflict(_)
            | ActError::Stale { .. }
            | ActError::NotAllowed
            | ActError::RoleRequired,
        )
        | ChangeError::NameTaken(_)
        | ChangeError::LimitReached(_)
        | ChangeError::TooOften { .. }
        | ChangeError::OwnersGive(_)
        | ChangeError::AlreadyMember
        | ChangeError::LastOwner
        | ChangeError::SelfChange
        | ChangeError::InviteGone
        | ChangeError::PersonRequired => Failure::usage(error),
        ChangeError::Act(ActError::Ledger(_)) | ChangeError::Store(_) => {
            Failure::internal(causes(error))
        }
    }
}

/// The failure that a change of policies ended in.
pub(super) fn policy_failure(error: &PolicyError) -> Failure {
    match error {
        PolicyError::Change(error) => failure(error),
        PolicyError::Invalid(invalid) | PolicyError::BadTests(invalid) => {
            Failure { exit: Exit::FoundBad, sentence: invalid.to_string() }
        }
        PolicyError::TestsFailed(failed) => {
            let lines: Vec<_> = failed
                .iter()
                .map(|case| format!("\n  {}: {}", case.name, case.differences.join("; ")))
                .collect();
            Failure { exit: Exit::FoundBad, sentence: format!("{error}:{}", lines.concat()) }
        }
        PolicyError::Active
        | PolicyError::OwnProposal
        | PolicyError::LimitReached(_)
        | PolicyError::Stopped => Failure::usage(error),
    }
}
