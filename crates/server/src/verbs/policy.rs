//! `policy`: looks at documents, tests and recorded decisions, and lets a document decide.

mod judge;
mod recorded;
mod report;

pub(super) use judge::{diff, known_in, lint, test};
pub(super) use recorded::{explain, replay};

use std::{
    io::{IsTerminal, stdin},
    path::Path,
};

use act::Changed;
use admin::{
    Activated, Activation, Expected, KnownOrg, Linted, NewPolicy, NewVersion, PolicyError,
};
use ledger::record::{PolicyMode, Proposal};
use model::{OrgId, PolicyId, causes};
use policy::{DocumentError, Severity};

use super::{accounts::policy_failure, org_of, stem};
use crate::{
    cli::Activate,
    core::Core,
    exit::{Exit, Failure},
    print,
};

/// What the documents of an org are judged against.
pub(super) async fn known_of(core: &Core, org: OrgId) -> Result<KnownOrg, Failure> {
    let tools = core.gate.known_tools(org).await;
    let tools = tools.map_err(|error| Failure::internal(causes(&error)))?;
    let known = core.operator(org).view().known(tools).await;
    known.map_err(|error| Failure::internal(causes(&error)))
}

pub(super) async fn activate(core: &Core, what: Activate) -> Result<Exit, Failure> {
    let org = org_of(core, what.org).await?;
    let linted = judge::linted(&what.file, &known_of(core, org).await?)?;
    if !consents(&what.file, &linted, what.yes)? {
        print::complaint("nothing was changed");
        return Ok(Exit::FoundBad);
    }
    let policy = policy_named(core, org, what.policy.unwrap_or_else(|| stem(&what.file))).await?;
    let operator = core.operator(org);
    let version = operator.create_policy_version(NewVersion::of(policy, linted)).await;
    let version = version.map_err(|error| policy_failure(&error))?.object;
    let mode = if what.shadow { PolicyMode::Shadow } else { PolicyMode::Enforce };
    let expected_active = Expected::Anything;
    let untested = operator.view().untested(policy, version.id).await;
    let tested = untested.and_then(|untested| untested.pass(&policy::Effort::unbounded()));
    let tested = tested.map_err(|error| policy_failure(&error))?;
    let reason = what.reason;
    let activation = Activation { version: tested, mode, reason, expected_active };
    let active = operator.activate_policy(activation).await;
    let came_of_it = match active.map_err(|error| policy_failure(&error))? {
        Activated::Now(active) => format!("{}, deed {}", mode.as_str(), active.deed),
        Activated::Proposed(Changed { object: Proposal { id, expires_at, .. }, deed }) => format!(
            "proposed as {id} for {}; a member of the org confirms it until {expires_at}, deed {deed}",
            mode.as_str()
        ),
    };
    print::line(format!("{} version {} of {policy}: {came_of_it}", version.id, version.number));
    Ok(Exit::Ok)
}

/// The org's policy of this name, which is made if there is none.
async fn policy_named(core: &Core, org: OrgId, name: String) -> Result<PolicyId, Failure> {
    let known = core.stores.accounts.policies(org).await;
    let known = known.map_err(|error| Failure::internal(causes(&error)))?;
    let known =
        known.into_iter().find(|policy| policy.name == name && policy.archived_at.is_none());
    if let Some(known) = known {
        return Ok(known.id);
    }
    let made = core.operator(org).create_policy(NewPolicy::named(name)).await;
    Ok(made.map_err(|error| policy_failure(&error))?.object.id)
}

/// Shows what lint warns of and asks whether the document shall be activated all the same. One
/// with errors is refused before anything is made.
fn consents(file: &Path, linted: &Linted, yes: bool) -> Result<bool, Failure> {
    if !linted.is_valid() {
        let findings = linted.findings().to_vec();
        return Err(policy_failure(&PolicyError::Invalid(DocumentError { findings })));
    }
    for finding in linted.findings() {
        print::complaint(judge::in_lines(&file.display().to_string(), finding));
    }
    let warns = linted.findings().iter().any(|finding| finding.severity == Severity::Warning);
    if yes || !warns {
        return Ok(true);
    }
    if !stdin().is_terminal() {
        let sentence = "nothing was changed: lint warns of the document; change it, or give \
                        `--yes` to activate it as it is";
        return Err(Failure::usage(sentence));
    }
    print::question("Activate it as it is? [y/N] ");
    let mut answer = String::new();
    stdin().read_line(&mut answer).map_err(Failure::internal)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
