//! What the verbs on policies take.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use model::{ActionId, OrgId, Timestamp};

use super::InOrg;

/// What `policy` does.
#[derive(Debug, Subcommand)]
pub enum Policy {
    /// Check a policy document and print its errors and warnings.
    Lint(LintPolicy),
    /// Run policy tests.
    Test(TestPolicy),
    /// Compare the decisions of two documents, and print each difference with an example.
    Diff(DiffPolicies),
    /// Explain a recorded decision, or how a document would have decided the call.
    Explain(ExplainDecision),
    /// Replay recorded calls, and print how a document would have decided them.
    Replay(ReplayPolicy),
    /// Create the next version of a policy from a document and activate it.
    Activate(Activate),
}

/// Output format of the findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people.
    Text,
    /// JSON for programs.
    Json,
    /// XML for viewers of test reports.
    Junit,
}

/// What `policy lint` takes.
#[derive(Debug, Args)]
pub struct LintPolicy {
    /// File with the policy document, in YAML or JSON.
    pub file: PathBuf,
    /// File with the tools that the document is checked against, in the format of the response of
    /// `GET /v1/tools`.
    #[arg(long, value_name = "FILE")]
    pub tools: Option<PathBuf>,
    /// ID of the org whose tools, read from the database, the document is checked against.
    #[arg(long, value_name = "ID", conflicts_with = "tools")]
    pub org: Option<OrgId>,
    /// Output format of the findings.
    #[arg(long, default_value = "text")]
    pub format: Format,
}

/// What `policy test` takes.
#[derive(Debug, Args)]
pub struct TestPolicy {
    /// Files with policy tests, in YAML or JSON.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// File with the document to test. The default is the document that each test file names, in
    /// the same folder.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Output format of the results.
    #[arg(long, default_value = "text")]
    pub format: Format,
}

/// What `policy diff` takes.
#[derive(Debug, Args)]
pub struct DiffPolicies {
    /// File with the previous document, in YAML or JSON.
    pub before: PathBuf,
    /// File with the new document.
    pub after: PathBuf,
    /// File with the tools that both documents are checked against, in the format of the response
    /// of `GET /v1/tools`.
    #[arg(long, value_name = "FILE")]
    pub tools: Option<PathBuf>,
    /// Output format of the differences.
    #[arg(long, default_value = "text")]
    pub format: Format,
}

/// What `policy explain` takes.
#[derive(Debug, Args)]
pub struct ExplainDecision {
    /// ID of the action whose decision is explained.
    pub action: ActionId,
    /// File with the document to evaluate. The default is the version that decided.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Write the call and its decision to a file of policy tests; the file must not exist yet.
    #[arg(long, value_name = "FILE")]
    pub save_case: Option<PathBuf>,
    /// Output format of the explanation.
    #[arg(long, default_value = "text")]
    pub format: Format,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What `policy replay` takes.
#[derive(Debug, Args)]
pub struct ReplayPolicy {
    /// File with the policy document, in YAML or JSON.
    pub file: PathBuf,
    /// Time from which calls are replayed, such as `2026-10-01T00:00:00Z`.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub since: Option<Timestamp>,
    /// Maximum number of decisions, the oldest first.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub limit: usize,
    /// Output format of the results.
    #[arg(long, default_value = "text")]
    pub format: Format,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What `policy activate` takes.
#[derive(Debug, Args)]
pub struct Activate {
    /// File with the policy document, in YAML or JSON.
    pub file: PathBuf,
    /// Name of the policy that the document is the next version of. The default is the file's name.
    #[arg(long)]
    pub policy: Option<String>,
    /// Enforce the policy in place of another without confirmation, even if the policy is created
    /// by this command.
    #[arg(long)]
    pub new: bool,
    /// Activate the version as a shadow: it is evaluated in addition to the version that decides,
    /// and does not decide itself.
    #[arg(long)]
    pub shadow: bool,
    /// Reason, for the record.
    #[arg(long)]
    pub reason: String,
    /// Activate the version despite lint warnings, without confirmation.
    #[arg(long)]
    pub yes: bool,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

fn moment(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse_rfc3339(text).map_err(|error| error.to_string())
}
