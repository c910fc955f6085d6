//! What the verbs on policies take.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use model::{ActionId, OrgId, Timestamp};

use super::InOrg;

/// What `policy` does.
#[derive(Debug, Subcommand)]
pub enum Policy {
    /// Say what is wrong with a policy document.
    Lint(LintPolicy),
    /// Run files of tests.
    Test(TestPolicy),
    /// Say what a document decides differently from another, each difference by an example.
    Diff(DiffPolicies),
    /// Say how a recorded decision came about, or how a document would have decided the call.
    Explain(ExplainDecision),
    /// Say what a document would have decided of recorded calls.
    Replay(ReplayPolicy),
    /// Make a document the next version of a policy and let it decide.
    Activate(Activate),
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For what shows test reports.
    Junit,
}

/// What `policy lint` takes.
#[derive(Debug, Args)]
pub struct LintPolicy {
    /// The document, in YAML or JSON.
    pub file: PathBuf,
    /// The tools that it is judged against, as `GET /v1/tools` answers them.
    #[arg(long, value_name = "FILE")]
    pub tools: Option<PathBuf>,
    /// The org whose tools it is judged against, out of the database.
    #[arg(long, value_name = "ID", conflicts_with = "tools")]
    pub org: Option<OrgId>,
    /// How findings are printed.
    #[arg(long, default_value = "text")]
    pub format: Format,
}

/// What `policy test` takes.
#[derive(Debug, Args)]
pub struct TestPolicy {
    /// Files of tests, in YAML or JSON.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// The document that is tested; by default the one that each file names, beside it.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// How results are printed.
    #[arg(long, default_value = "text")]
    pub format: Format,
}

/// What `policy diff` takes.
#[derive(Debug, Args)]
pub struct DiffPolicies {
    /// The document before, in YAML or JSON.
    pub before: PathBuf,
    /// The document after.
    pub after: PathBuf,
    /// The tools that both are judged against, as `GET /v1/tools` answers them.
    #[arg(long, value_name = "FILE")]
    pub tools: Option<PathBuf>,
    /// How differences are printed.
    #[arg(long, default_value = "text")]
    pub format: Format,
}

/// What `policy explain` takes.
#[derive(Debug, Args)]
pub struct ExplainDecision {
    /// The action whose decision is explained.
    pub action: ActionId,
    /// The document that is asked; by default the version that decided.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Write the call and its decision as a file of tests; the file must not be there yet.
    #[arg(long, value_name = "FILE")]
    pub save_case: Option<PathBuf>,
    /// How the explanation is printed.
    #[arg(long, default_value = "text")]
    pub format: Format,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What `policy replay` takes.
#[derive(Debug, Args)]
pub struct ReplayPolicy {
    /// The document, in YAML or JSON.
    pub file: PathBuf,
    /// From which moment on, such as `2026-10-01T00:00:00Z`.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub since: Option<Timestamp>,
    /// The most decisions, the oldest first.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub limit: usize,
    /// How answers are printed.
    #[arg(long, default_value = "text")]
    pub format: Format,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What `policy activate` takes.
#[derive(Debug, Args)]
pub struct Activate {
    /// The document, in YAML or JSON.
    pub file: PathBuf,
    /// The policy of which the document is the next version, by name. The file's name by default.
    #[arg(long)]
    pub policy: Option<String>,
    /// Enforce the policy in place of another without a question, also where it is made for that.
    #[arg(long)]
    pub new: bool,
    /// Ask the version beside the one that decides, instead of letting it decide.
    #[arg(long)]
    pub shadow: bool,
    /// Why, for the record.
    #[arg(long)]
    pub reason: String,
    /// Activate it whatever lint warns of, without a question.
    #[arg(long)]
    pub yes: bool,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

fn moment(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse_rfc3339(text).map_err(|error| error.to_string())
}
