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
use ledger::record::{Policy, PolicyMode, Proposal};
use model::{OrgId, PolicyId, PolicyVersionId, causes};
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
    let mode = if what.shadow { PolicyMode::Shadow } else { PolicyMode::Enforce };
    let is_named = what.policy.is_some();
    let name = what.policy.unwrap_or_else(|| stem(&what.file));
    let target = Target::named(core, org, (name, mode)).await?;
    let is_said = what.new || (is_named && target.existing.is_some());
    if !accepts_warnings(&what.file, &linted, what.yes)? || !target.accepts_replacement(is_said)? {
        print::complaint("nothing was changed");
        return Ok(Exit::FoundBad);
    }
    let policy = target.policy(core, org).await?;
    let operator = core.operator(org);
    let version = operator.create_policy_version(NewVersion::of(policy, linted)).await;
    let version = version.map_err(|error| policy_failure(&error))?.object;
    let expected_active = Expected::Exactly(target.active);
    let untested = operator.view().untested(policy, version.id).await;
    let tested = untested.and_then(|untested| untested.pass(&policy::Effort::unbounded()));
    let tested = tested.map_err(|error| policy_failure(&error))?;
    let reason = what.reason;
    let activation = Activation { version: tested, mode, reason, expected_active };
    let active = operator.activate_policy(activation).await;
    let active = active.map_err(|error| policy_failure(&error))?;
    let came_of_it = match &active {
        Activated::Now(active) => format!("{}, deed {}", mode.as_str(), active.deed),
        Activated::Proposed(Changed { object: Proposal { id, expires_at, .. }, deed }) => format!(
            "proposed as {id} for {}; a member of the org must confirm it by {expires_at}, deed \
             {deed}",
            mode.as_str()
        ),
    };
    print::line(format!("{} version {} of {policy}: {came_of_it}", version.id, version.number));
    print::line(target.told(version.number, &active));
    Ok(Exit::Ok)
}

/// The policy of which a document is to be a version, and what is active in the mode meanwhile.
struct Target {
    name: String,
    /// None where it is to be made.
    existing: Option<PolicyId>,
    active: Option<PolicyVersionId>,
    /// The policy of the active version, and its number, where that is another policy.
    replaced: Option<(String, u32)>,
    mode: PolicyMode,
}

impl Target {
    /// The org's policy of this name.
    async fn named(
        core: &Core,
        org: OrgId,
        (name, mode): (String, PolicyMode),
    ) -> Result<Self, Failure> {
        let operator = core.operator(org);
        let view = operator.view();
        let policies = view.policies().await.map_err(|error| policy_failure(&error))?;
        let is_it = |policy: &&Policy| policy.name == name && policy.archived_at.is_none();
        let existing = policies.iter().find(is_it).map(|policy| policy.id);
        let active = view.active_policies().await.map_err(|error| policy_failure(&error))?;
        let active = match mode {
            PolicyMode::Enforce => active.enforce,
            PolicyMode::Shadow => active.shadow,
        };
        let active = active.map(|(active, _)| active);
        let other = active.filter(|active| Some(active.policy) != existing);
        let replaced = match other {
            Some(other) => {
                let version = view.policy_version(other.version).await;
                let version = version.map_err(|error| policy_failure(&error))?;
                let policy = policies.iter().find(|policy| policy.id == other.policy);
                let name = policy.map_or_else(|| other.policy.to_string(), |it| it.name.clone());
                Some((name, version.number))
            }
            None => None,
        };
        let active = active.map(|active| active.version);
        Ok(Self { name, existing, active, replaced, mode })
    }

    /// Asks whether the policy shall be enforced in place of another, unless that was said.
    fn accepts_replacement(&self, is_said: bool) -> Result<bool, Failure> {
        let Some((other, number)) = &self.replaced else { return Ok(true) };
        if is_said || self.mode == PolicyMode::Shadow {
            return Ok(true);
        }
        let name = &self.name;
        let (makes, say) = match self.existing {
            Some(_) => ("the policy", format!("`--policy {name}`")),
            None => ("the new policy", "`--new`".to_owned()),
        };
        let would =
            format!("{makes} `{name}` would be enforced in place of `{other}` version {number}");
        if !stdin().is_terminal() {
            return Err(Failure::usage(format!(
                "nothing was changed: {would}; pass `--policy {other}` to create the next version \
                 of that policy, or {say}"
            )));
        }
        print::complaint(format!(
            "{would}; `--policy {other}` would create the next version of that policy"
        ));
        asked("Enforce it?")
    }

    /// The policy, which is made if there is none.
    async fn policy(&self, core: &Core, org: OrgId) -> Result<PolicyId, Failure> {
        if let Some(existing) = self.existing {
            return Ok(existing);
        }
        let made = core.operator(org).create_policy(NewPolicy::named(self.name.clone())).await;
        Ok(made.map_err(|error| policy_failure(&error))?.object.id)
    }

    /// What was made, and what it takes the place of.
    fn told(&self, number: u32, active: &Activated) -> String {
        let Self { name, existing, replaced, .. } = self;
        let kind = if existing.is_some() { "policy" } else { "new policy" };
        let before = match (replaced, active) {
            (None, _) => String::new(),
            (Some((other, number)), Activated::Now(_)) => {
                format!("; until now it was `{other}` version {number}")
            }
            (Some((other, number)), Activated::Proposed(_)) => {
                format!("; until then it is `{other}` version {number}")
            }
        };
        format!("Version {number} of the {kind} `{name}`{before}.")
    }
}

/// Asks a yes or a no of whoever sits at the terminal.
fn asked(question: &str) -> Result<bool, Failure> {
    print::question(&format!("{question} [y/N] "));
    let mut answer = String::new();
    stdin().read_line(&mut answer).map_err(Failure::internal)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Shows what lint warns of and asks whether the document shall be activated all the same. One
/// with errors is refused before anything is made.
fn accepts_warnings(file: &Path, linted: &Linted, yes: bool) -> Result<bool, Failure> {
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
        let sentence = "nothing was changed: lint has warnings about the document; change it, or \
                        pass `--yes` to activate it unchanged";
        return Err(Failure::usage(sentence));
    }
    asked("Activate it unchanged?")
}
