//! An org as requests change it and responses show it.

use admin::{OrgAsRun, OrgEdit, Wish};
use ledger::record::{AnswerTime, Stop};
use model::{OrgId, Timestamp};
use people::Signup;
use serde::Serialize;
use web::{ApiError, Call, Fields, Word};

use super::{agents::wish, policies::expected_revision};

/// An org and how it is run.
#[derive(Debug, Serialize)]
pub(crate) struct OrgDetail<'a> {
    object: &'static str,
    id: OrgId,
    name: &'a str,
    time_zone: &'a str,
    plan: &'static str,
    signup: &'static str,
    stop: Option<&'a Stop>,
    retention_days: u16,
    approvals: Approvals,
    policy_two_person: bool,
    revision: u32,
    created_at: Timestamp,
}

/// How an org asks people.
#[derive(Debug, Serialize)]
struct Approvals {
    default_expires_in: Option<AnswerTime>,
    require_other_person: bool,
    allow_single_member: bool,
}

impl<'a> OrgDetail<'a> {
    pub(crate) fn of(found: &'a OrgAsRun, signup: Signup) -> Self {
        let (org, asks) = (&found.org, found.approvals);
        Self {
            object: "org",
            id: org.id,
            name: &org.name,
            time_zone: &org.time_zone,
            plan: if org.pro { "pro" } else { "free" },
            signup: signup.as_str(),
            stop: org.stop.as_ref(),
            retention_days: found.retention_days,
            approvals: Approvals {
                default_expires_in: asks.default_expires_in,
                require_other_person: asks.require_other_person,
                allow_single_member: asks.allow_single_member,
            },
            policy_two_person: found.policy_two_person,
            revision: found.revision,
            created_at: org.created_at,
        }
    }
}

/// Reads the body of `POST /v1/org`.
pub(crate) fn org_edit(call: &Call) -> Result<OrgEdit, ApiError> {
    let mut fields = call.fields()?;
    let asks = fields.nested("approvals", approvals)?.unwrap_or_default();
    let edit = OrgEdit {
        name: fields.optional("name")?,
        time_zone: fields.optional("time_zone")?,
        // Which numbers there are is said where they are set: what is too large stays so.
        retention_days: fields
            .optional::<u64>("retention_days")?
            .map(|days| u16::try_from(days).unwrap_or(u16::MAX)),
        policy_two_person: fields.optional("policy_two_person")?,
        expected_revision: expected_revision(&mut fields)?,
        ..asks
    };
    fields.finish()?;
    Ok(edit)
}

fn approvals(mut fields: Fields) -> Result<OrgEdit, ApiError> {
    let default_expires_in: Wish<AnswerTime> =
        wish(&mut fields, "default_expires_in", |Word(time): Word<AnswerTime>| time)?;
    let edit = OrgEdit {
        default_expires_in,
        require_other_person: fields.optional("require_other_person")?,
        allow_single_member: fields.optional("allow_single_member")?,
        ..OrgEdit::default()
    };
    fields.finish()?;
    Ok(edit)
}
