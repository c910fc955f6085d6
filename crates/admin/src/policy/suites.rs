//! The tests of a policy: kept with it, and run over a version or a draft.

use ledger::{
    Needs,
    record::{Policy as Row, PolicyTests},
};
use model::PolicyId;
use policy::{CaseResult, Policy, Report, Suite, read_suite};

use super::{Expected, Text, manage::live};
use crate::{ChangeError, Changed, InOrg, PolicyError};

/// What came of a file of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestRun {
    /// Every result, in the order of the file.
    pub results: Vec<CaseResult>,
    /// The rules that decided no call of the file, in the policy's order.
    pub uncovered: Vec<String>,
}

impl TestRun {
    /// Returns how many results differ from what was expected.
    pub fn failed(&self) -> usize {
        self.results.iter().filter(|result| !result.differences.is_empty()).count()
    }
}

impl From<Report> for TestRun {
    fn from(report: Report) -> Self {
        Self { results: report.results, uncovered: report.untested }
    }
}

impl InOrg<'_> {
    /// Makes these the tests that every version of the policy must pass before it is activated.
    pub async fn put_policy_tests(
        &self,
        policy: PolicyId,
        suite: &str,
        expected_revision: Expected<u32>,
    ) -> Result<Changed<PolicyTests>, PolicyError> {
        let cases = read(suite)?.cases();
        let suite = suite.to_owned();
        let put = self.turn(Needs::default(), None, move |at, record| {
            let before = live(at, policy)?;
            if expected_revision.is_not(&before.revision) {
                return Err(ChangeError::Conflict("the policy has another revision by now"));
            }
            let revision = before.revision.saturating_add(1);
            let tests = PolicyTests {
                policy,
                suite: suite.clone(),
                cases: u32::try_from(cases).unwrap_or(u32::MAX),
                revision,
                updated_at: at.now(),
            };
            Ok(record.policy_tests(Row { revision, ..before.clone() }, tests))
        });
        Ok(put.await?)
    }

    /// Returns the tests of a policy, nothing when it has none.
    pub async fn policy_tests(&self, id: PolicyId) -> Result<Option<PolicyTests>, PolicyError> {
        self.policy(id).await?;
        Ok(self.admin.parts.store.policy_tests(self.org, id).await?)
    }

    /// Runs tests over a text: these, or those that the version's policy has.
    pub async fn run_policy_tests(
        &self,
        text: Text,
        suite: Option<&str>,
    ) -> Result<TestRun, PolicyError> {
        let (policy, of) = self.compiled(text).await?;
        let kept = match (suite, of) {
            (Some(_), _) => None,
            (None, Some(of)) => self.admin.parts.store.policy_tests(self.org, of).await?,
            (None, None) => {
                let expected = "a file of tests, which a document that is no version has none of";
                return Err(ChangeError::bad_input("suite", expected).into());
            }
        };
        match suite.or(kept.as_ref().map(|tests| tests.suite.as_str())) {
            Some(suite) => Ok(read(suite)?.run(&policy).into()),
            None => {
                Err(ChangeError::bad_input("suite", "a file of tests; the policy has none").into())
            }
        }
    }

    /// Returns the policy that a text is, and whose version it is.
    pub(super) async fn compiled(
        &self,
        text: Text,
    ) -> Result<(Policy, Option<PolicyId>), PolicyError> {
        let (document, of) = match text {
            Text::Draft(document) => (document, None),
            Text::Version(id) => {
                let version = self.policy_version(id).await?;
                (version.document, Some(version.policy))
            }
        };
        Ok((Policy::compile(&document).map_err(PolicyError::Invalid)?, of))
    }
}

pub(super) fn read(suite: &str) -> Result<Suite, PolicyError> {
    read_suite(suite).map_err(PolicyError::BadTests)
}
