//! An org as requests change it and responses show it.

use admin::OrgAsRun;
use ledger::record::Stop;
use model::{OrgId, Timestamp};
use people::Signup;
use serde::Serialize;
use web::{ApiError, Call};

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
    created_at: Timestamp,
}

impl<'a> OrgDetail<'a> {
    pub(crate) fn of(found: &'a OrgAsRun, signup: Signup) -> Self {
        let org = &found.org;
        Self {
            object: "org",
            id: org.id,
            name: &org.name,
            time_zone: &org.time_zone,
            plan: if org.pro { "pro" } else { "free" },
            signup: signup.as_str(),
            stop: org.stop.as_ref(),
            retention_days: found.retention_days,
            created_at: org.created_at,
        }
    }
}

/// Reads the body of `POST /v1/org`: for how many days payloads are kept.
pub(crate) fn retention(call: &Call) -> Result<u16, ApiError> {
    let mut fields = call.fields()?;
    let days: u64 = fields.required("retention_days")?;
    fields.finish()?;
    // Which numbers there are is said where they are set: what is too large stays so.
    Ok(u16::try_from(days).unwrap_or(u16::MAX))
}
