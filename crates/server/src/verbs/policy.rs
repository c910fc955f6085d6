//! `policy`: looks at documents, tests and recorded decisions, and lets a document decide.

mod judge;
mod recorded;
mod report;

pub(super) use judge::{diff, lint, test};
pub(super) use recorded::{explain, replay};

use admin::{Activation, Expected, NewPolicy, NewVersion};
use ledger::record::PolicyMode;
use model::causes;

use super::{accounts::policy_failure, org_of, stem};
use crate::{
    cli::Activate,
    core::Core,
    exit::{Exit, Failure},
    print,
};

pub(super) async fn activate(core: &Core, what: Activate) -> Result<Exit, Failure> {
    let document = super::read_text(&what.file)?;
    let org = org_of(core, what.org).await?;
    let operator = core.operator(org);
    let name = what.policy.unwrap_or_else(|| stem(&what.file));
    let known = core.stores.accounts.policies(org).await;
    let known = known.map_err(|error| Failure::internal(causes(&error)))?;
    let known =
        known.into_iter().find(|policy| policy.name == name && policy.archived_at.is_none());
    let policy = if let Some(known) = known {
        known.id
    } else {
        let made = operator.create_policy(NewPolicy::named(name)).await;
        made.map_err(|error| policy_failure(&error))?.object.id
    };
    let tools = core.gate.known_tools(org).await;
    let tools = tools.map_err(|error| Failure::internal(causes(&error)))?;
    let version =
        operator.create_policy_version(NewVersion::of(policy, admin::lint(document, &tools))).await;
    let version = version.map_err(|error| policy_failure(&error))?.object;
    let mode = if what.shadow { PolicyMode::Shadow } else { PolicyMode::Enforce };
    let expected_active = Expected::Anything;
    let untested = operator.view().untested(policy, version.id).await;
    let tested = untested.and_then(|untested| untested.pass(&policy::Effort::unbounded()));
    let tested = tested.map_err(|error| policy_failure(&error))?;
    let reason = what.reason;
    let activation = Activation { version: tested, mode, reason, expected_active };
    let active = operator.activate_policy(activation).await;
    let active = active.map_err(|error| policy_failure(&error))?;
    print::line(format!(
        "{} version {} of {policy}: {}, deed {}",
        version.id,
        version.number,
        mode.as_str(),
        active.deed
    ));
    Ok(Exit::Ok)
}
