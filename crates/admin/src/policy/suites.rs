//! The tests of a policy: kept with it, and run over a version or a draft.

use act::{ActError, Changed, Fact, Record};
use deed::Subject;
use ledger::{
    Needs,
    record::{Policy as Row, PolicyTests, PolicyVersion},
};
use model::{EventType, PolicyId};
use policy::{Effort, EffortError, Policy, Report, Suite, read_suite};
use serde_json::{Value, json};

use super::{
    Expected, Text,
    manage::{ANOTHER_REVISION, live},
    thin,
};
use crate::{OrgChange, OrgView, PolicyError};

/// The most calls that the service decides for one file of tests.
const MOST_CALLS: u64 = 10_000;
/// The most steps of evaluation that the service takes for one file of tests.
const MOST_STEPS: u64 = 20_000_000;

/// The effort that the service makes to judge, compare or test documents for one caller.
pub fn bounded_effort() -> Effort {
    Effort::of_steps(MOST_STEPS)
}

/// A document and a file of tests that are to be run over it.
#[derive(Debug, Clone)]
pub struct Trial {
    document: String,
    suite: String,
}

impl Trial {
    /// What comes of the tests. It takes its time.
    pub fn run(&self, effort: &Effort) -> Result<Report, PolicyError> {
        let policy = Policy::compile(&self.document).map_err(PolicyError::Invalid)?;
        Ok(read(&self.suite)?.run_within(&policy, effort)?)
    }
}

/// A version that has not yet shown that it passes the tests of its policy.
#[derive(Debug, Clone)]
pub struct Untested {
    version: PolicyVersion,
    suite: Option<String>,
    /// The policy's revision, which moves when its tests do.
    revision: u32,
}

/// A version that passed the tests of its policy as they stood at a revision, or that failed some
/// which somebody wants overruled.
#[derive(Debug, Clone)]
pub struct Tested {
    pub(super) version: PolicyVersion,
    pub(super) revision: u32,
    /// How many tests failed.
    pub(super) failed: u32,
}

/// What becomes of a version that fails tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    /// It is refused.
    Refused,
    /// It is taken all the same; only an owner activates it.
    Overruled,
}

impl Untested {
    /// The version as one that passed. It takes its time.
    pub fn pass(self, effort: &Effort) -> Result<Tested, PolicyError> {
        self.run(Failing::Refused, effort)
    }

    /// The version with what its tests came to. It takes its time.
    pub fn run(self, failing: Failing, effort: &Effort) -> Result<Tested, PolicyError> {
        let Self { version, suite, revision } = self;
        // An older build may have taken what this one cannot read; enforcing that would refuse
        // every call.
        let policy = Policy::compile(&version.document).map_err(PolicyError::Invalid)?;
        let mut failed = match suite {
            Some(suite) => read(&suite)?.run_within(&policy, effort)?.results,
            None => Vec::new(),
        };
        failed.retain(|result| !result.differences.is_empty());
        match failing {
            Failing::Refused if !failed.is_empty() => Err(PolicyError::TestsFailed(failed)),
            Failing::Refused | Failing::Overruled => {
                let failed = u32::try_from(failed.len()).unwrap_or(u32::MAX);
                Ok(Tested { version, revision, failed })
            }
        }
    }
}

impl OrgChange<'_> {
    /// Makes these the tests that every version of the policy must pass before it is activated.
    pub async fn put_policy_tests(
        &self,
        policy: PolicyId,
        suite: &str,
        expected_revision: Expected<u32>,
    ) -> Result<Changed<PolicyTests>, PolicyError> {
        let cases = u32::try_from(read(suite)?.cases()).unwrap_or(u32::MAX);
        let suite = suite.to_owned();
        let put = self.turn(Needs::default(), None, move |at, record| {
            let before = live(at, policy)?;
            if expected_revision.is_not(&before.revision) {
                return Err(ANOTHER_REVISION);
            }
            let revision = before.revision.saturating_add(1);
            let (suite, updated_at) = (suite.clone(), at.now());
            let tests = PolicyTests { policy, suite, cases, revision, updated_at };
            Ok(tests_put(record, Row { revision, ..before.clone() }, tests))
        });
        Ok(put.await?)
    }
}

impl OrgView<'_> {
    /// The tests of a policy; `None` when it has none.
    pub async fn policy_tests(&self, id: PolicyId) -> Result<Option<PolicyTests>, PolicyError> {
        self.policy(id).await?;
        Ok(self.admin.parts.store.policy_tests(self.org, id).await?)
    }

    /// Returns tests to be run over a text: these, or those that the version's policy has.
    pub async fn policy_trial(
        &self,
        text: Text,
        suite: Option<String>,
    ) -> Result<Trial, PolicyError> {
        let (document, of) = self.text(text).await?;
        let suite = match (suite, of) {
            (Some(suite), _) => suite,
            (None, Some(of)) => {
                let kept = self.admin.parts.store.policy_tests(self.org, of).await?;
                let none =
                    || ActError::bad_input("suite", "a file of tests, because the policy has none");
                kept.ok_or_else(none)?.suite
            }
            (None, None) => {
                let expected =
                    "a file of tests, because a document that is not a policy version has none";
                return Err(ActError::bad_input("suite", expected).into());
            }
        };
        Ok(Trial { document, suite })
    }

    /// A version of the policy with the tests that it must pass.
    pub async fn untested(
        &self,
        policy: PolicyId,
        version: model::PolicyVersionId,
    ) -> Result<Untested, PolicyError> {
        // The revision first: tests that change after it was read move it.
        let revision = self.policy(policy).await?.revision;
        let version = self.policy_version(version).await?;
        if version.policy != policy {
            return Err(ActError::NotFound("policy version").into());
        }
        let suite = self.admin.parts.store.policy_tests(self.org, policy).await?;
        Ok(Untested { version, suite: suite.map(|tests| tests.suite), revision })
    }

    /// The document that a text is, and the policy that it is a version of.
    pub(super) async fn text(&self, text: Text) -> Result<(String, Option<PolicyId>), PolicyError> {
        match text {
            Text::Draft(document) => Ok((document, None)),
            Text::Version(id) => {
                let version = self.policy_version(id).await?;
                Ok((version.document, Some(version.policy)))
            }
        }
    }
}

impl From<EffortError> for PolicyError {
    fn from(ended: EffortError) -> Self {
        match ended {
            EffortError::TooMuch => {
                let expected =
                    format!("tests that take at most {MOST_STEPS} steps in total; these take more");
                ActError::bad_input("suite", expected).into()
            }
            EffortError::Stopped => Self::Stopped,
        }
    }
}

fn read(suite: &str) -> Result<Suite, PolicyError> {
    let suite = read_suite(suite).map_err(PolicyError::BadTests)?;
    if suite.calls() > MOST_CALLS {
        let expected = format!("at most {MOST_CALLS} calls, got {}", suite.calls());
        return Err(ActError::bad_input("suite", expected).into());
    }
    Ok(suite)
}

/// Adds the tests of a policy in their new form, and the policy with its new revision.
pub(crate) fn tests_put(
    record: &mut Record<'_>,
    of: Row,
    after: PolicyTests,
) -> Changed<PolicyTests> {
    let (policy, digest) = (after.policy, crypto::sha256(&after.suite));
    let deed = record.seal(Fact {
        event: EventType::PolicyTestsUpdated,
        subject: Subject::policy(policy),
        before: None,
        // The file is kept in its own row; its digest is enough here.
        after: Some(json!({
            "policy": policy, "digest": digest, "cases": after.cases,
            "revision": after.revision, "updated_at": after.updated_at,
        })),
        data: vec![
            ("digest", json!(digest)),
            ("cases", json!(after.cases)),
            ("revision", json!(after.revision)),
        ],
        object: thin(policy, Value::Null, Value::Null),
    });
    record.write(of);
    record.write(after.clone());
    Changed { object: after, deed }
}
