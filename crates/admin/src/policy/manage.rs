//! Making, describing and archiving policies.

use act::{ActError, Changed, Fact, Record};
use deed::Subject;
use ledger::{Needs, Snapshot, record::Policy};
use model::{EventType, PolicyId, Timestamp};
use serde_json::{Value, json};

use super::{Expected, thin};
use crate::{ChangeError, OrgChange, PolicyError, input};

/// The most policies of an org that are not archived; every turn may look at them.
const MOST: usize = 200;

/// What a policy is made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPolicy {
    /// Its name.
    pub name: String,
    /// What it is for; may be empty.
    pub description: String,
}

impl NewPolicy {
    /// A policy of this name about which nothing else is said.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), description: String::new() }
    }
}

/// What is to be changed of a policy; what is absent stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyEdit {
    /// The name.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The revision that the change is made on.
    pub expected_revision: Expected<u32>,
}

impl OrgChange<'_> {
    /// Makes a policy without versions.
    pub async fn create_policy(&self, new: NewPolicy) -> Result<Changed<Policy>, PolicyError> {
        let name = input::title(&new.name)?;
        let description = input::description(&new.description)?;
        let policy = Policy {
            id: self.admin.mint().id(PolicyId::from_uuid),
            org: self.org,
            name,
            description,
            revision: 1,
            created_at: Timestamp::EPOCH,
            archived_at: None,
        };
        let made = self.turn(Needs::default(), None, move |at, record| {
            name_is_free(at, &policy)?;
            if at.base().is_some_and(|base| base.policies.len() >= MOST) {
                return Err(PolicyError::LimitReached(MOST));
            }
            let policy = Policy { created_at: at.now(), ..policy.clone() };
            Ok(changed(record, EventType::PolicyCreated, None, policy))
        });
        made.await
    }

    /// Changes what a policy is called and what is said of it.
    pub async fn update_policy(
        &self,
        id: PolicyId,
        edit: PolicyEdit,
    ) -> Result<Changed<Policy>, PolicyError> {
        let name = edit.name.as_deref().map(input::title).transpose()?;
        let description = edit.description.as_deref().map(input::description).transpose()?;
        if name.is_none() && description.is_none() {
            let expected = "this field, `description`, or both, with at least one change";
            return Err(ActError::bad_input("name", expected).into());
        }
        let changed = self.turn(Needs::default(), None, move |at, record| {
            let before = live(at, id)?;
            if edit.expected_revision.is_not(&before.revision) {
                return Err(ANOTHER_REVISION.into());
            }
            let after = Policy {
                name: name.clone().unwrap_or_else(|| before.name.clone()),
                description: description.clone().unwrap_or_else(|| before.description.clone()),
                revision: before.revision.saturating_add(1),
                ..before.clone()
            };
            name_is_free(at, &after)?;
            Ok(changed(record, EventType::PolicyUpdated, Some(before), after))
        });
        changed.await
    }

    /// Archives a policy no version of which is active; its versions stay readable for ever.
    pub async fn archive_policy(&self, id: PolicyId) -> Result<Changed<Policy>, PolicyError> {
        let archived = self.turn(Needs::default(), None, move |at, record| {
            let before = live(at, id)?;
            let active = at.base().map(|base| base.active.as_slice()).unwrap_or_default();
            if active.iter().any(|active| active.policy == id) {
                return Err(PolicyError::Active);
            }
            let after = Policy {
                archived_at: Some(at.now()),
                revision: before.revision.saturating_add(1),
                ..before.clone()
            };
            Ok(changed(record, EventType::PolicyArchived, Some(before), after))
        });
        archived.await
    }
}

/// The policy, unless it is not there or archived.
pub(super) fn live(at: &Snapshot, id: PolicyId) -> Result<&Policy, ActError> {
    let found = at.base().and_then(|base| base.policies.get(&id));
    found.ok_or(ActError::NotFound("policy"))
}

fn name_is_free(at: &Snapshot, policy: &Policy) -> Result<(), ChangeError> {
    let mut others = at.base().into_iter().flat_map(|base| base.policies.values());
    if others.any(|other| other.id != policy.id && other.name == policy.name) {
        return Err(ChangeError::NameTaken(policy.name.clone()));
    }
    Ok(())
}

/// Adds a policy in its new form.
pub(crate) fn changed(
    record: &mut Record<'_>,
    event: EventType,
    before: Option<&Policy>,
    after: Policy,
) -> Changed<Policy> {
    let deed = record.seal(Fact {
        event,
        subject: Subject::policy(after.id),
        before: before.map(|policy| json!(policy)),
        after: Some(json!(after)),
        data: vec![],
        object: thin(after.id, Value::Null, Value::Null),
    });
    record.write(after.clone());
    Changed { object: after, deed }
}

/// The refusal of a change that was asked for on another revision of the policy.
pub(super) const ANOTHER_REVISION: ActError = ActError::Stale {
    param: "expected_revision",
    sentence: "`expected_revision` is not the current revision of the policy",
};
