//! What is wrong with a policy document, as a list of findings with places.
//!
//! Findings speak about the author's text; what goes wrong while a call is decided is a
//! [`Failure`](crate::expr::Failure) and ends in the decision.

use std::fmt;

use crate::call::Call;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The document cannot be used.
    Error,
    /// The document can be used and probably does not do what its author wants.
    Warning,
    /// Worth knowing.
    Info,
}

impl Severity {
    /// The word that answers and reports carry.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// Defines the closed list of finding codes.
macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)?) => {
        /// What kind of thing a finding is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$doc])* $variant),+
        }

        impl Code {
            /// The codes in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word that answers and reports carry.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}

codes! {
    /// The text is no YAML or JSON, or uses a part of YAML that policies leave out.
    Syntax = "syntax",
    /// A limit of the document's size is passed.
    TooLarge = "too_large",
    /// A mapping has the same key twice.
    DuplicateKey = "duplicate_key",
    /// A key that the mapping does not have.
    UnknownKey = "unknown_key",
    /// A key that must be there is not.
    MissingKey = "missing_key",
    /// `default` is missing.
    NoDefault = "no_default",
    /// A value of the wrong shape.
    WrongType = "wrong_type",
    /// A value outside what the key takes.
    BadValue = "bad_value",
    /// Two rules or two budgets have one id.
    DuplicateId = "duplicate_id",
    /// A tool pattern that cannot be read or can match no tool.
    BadPattern = "bad_pattern",
    /// An expression that cannot be read.
    BadExpression = "bad_expression",
    /// A name that expressions do not have.
    UnknownName = "unknown_name",
    /// An operation on values that it does not take, or a condition that is not true or false.
    TypeError = "type_error",
    /// A condition that has no value for some calls that a tool's schema allows.
    CanError = "can_error",
    /// Something that is written out and that its function can never read.
    UnreadableConstant = "unreadable_constant",
    /// A field that a tool's schema does not have.
    UnknownField = "unknown_field",
    /// A condition or a comparison that is false for no call.
    AlwaysTrue = "always_true",
    /// A condition or a comparison that holds for no call.
    AlwaysFalse = "always_false",
    /// A pattern that covers none of the tools there are.
    UnknownTool = "unknown_tool",
    /// A pattern without a dot covers tools of several connectors.
    PatternWithoutDot = "pattern_without_dot",
    /// A rule that can never decide, since rules above take every call.
    Unreachable = "unreachable",
    /// A rule that can never decide, since conditions above take every call for which it holds.
    Shadowed = "shadowed",
    /// A rule that allows tools that write without a condition.
    BroadAllow = "broad_allow",
    /// A default that allows.
    DefaultAllow = "default_allow",
    /// A budget that no call can be charged to.
    BudgetNeverReached = "budget_never_reached",
    /// A budget that refuses every call, or before which another one always refuses.
    BudgetAlwaysFirst = "budget_always_first",
    /// An approval for which there are too few people.
    ApprovalNobody = "approval_nobody",
    /// An approval that excludes whom the agent says that it acts for.
    ExcludesByReference = "excludes_by_reference",
    /// A pattern that is found inside longer texts, where an outcome hangs on it.
    UnanchoredMatch = "unanchored_match",
    /// A start of a URL that ends inside its host.
    OpenHost = "open_host",
    /// An end of a domain without what stands before it.
    OpenDomain = "open_domain",
    /// `all` over a list that may be empty.
    AllOfNone = "all_of_none",
    /// A label that some agents do not have.
    MissingLabel = "missing_label",
    /// A destructive tool that a yes by the link of a mail lets run.
    WeakAssurance = "weak_assurance",
    /// A rule that decided no call of the tests.
    UntestedRule = "untested_rule",
}

/// One thing to say about a policy document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What kind of thing it is about.
    pub code: Code,
    /// The id of the rule or budget that it lies in.
    pub rule: Option<String>,
    /// Where in the document's tree, such as `rules[2].when`; empty for the whole document.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// A sentence for the author.
    pub message: String,
    /// A call that shows it, confirmed by the evaluator.
    pub example: Option<Box<Call>>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, message, .. } = self;
        write!(f, "{line}:{column}: {} {}: ", self.severity.as_str(), self.code.as_str())?;
        if !self.path.is_empty() {
            write!(f, "`{}`: ", self.path)?;
        }
        f.write_str(message)
    }
}

/// A document that cannot be used as a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct DocumentError {
    /// What is wrong, in the order of the text; never empty, and at most a hundred or so.
    pub findings: Vec<Finding>,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the policy document is not valid")?;
        self.findings.iter().try_for_each(|finding| write!(f, "\n{finding}"))
    }
}
