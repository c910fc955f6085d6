//! What an org has besides its policy, as far as judging a document asks for it: its tools and the
//! people who may approve, its agents. It reads nothing; whoever keeps them answers.

use std::sync::Arc;

use model::{Role, SideEffect};
use serde_json::Value;

use crate::call::Agent;

/// The tools that an org has.
pub trait Catalog {
    /// The tools in any order.
    fn tools(&self) -> Vec<KnownTool>;
}

/// What is known of one tool.
#[derive(Debug, Clone)]
pub struct KnownTool {
    /// The tool's whole name.
    pub name: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Arc<Value>,
    /// What it does to the world.
    pub side_effect: Option<SideEffect>,
}

/// The people and the agents of an org.
pub trait Directory {
    /// Those who may approve at all; none where people are not known.
    fn approvers(&self) -> Option<Vec<Approver>>;

    /// The agents in any order; empty where they are not known.
    fn agents(&self) -> Vec<Agent> {
        Vec::new()
    }
}

/// A person who may approve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approver {
    /// What `member:…` may call the person: an id, an address.
    pub names: Vec<String>,
    /// The person's role.
    pub role: Role,
}

/// An org of which neither tools nor people nor agents are known.
#[derive(Debug, Clone, Copy)]
pub struct Unknown;

impl Catalog for Unknown {
    fn tools(&self) -> Vec<KnownTool> {
        Vec::new()
    }
}

impl Directory for Unknown {
    fn approvers(&self) -> Option<Vec<Approver>> {
        None
    }
}
