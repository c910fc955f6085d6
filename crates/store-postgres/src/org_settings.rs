//! What orgs decided of how they are run, as turns read it.

use ledger::record::{AnswerTime, ApprovalSettings, OrgSettings};
use model::OrgId;
use tokio_postgres::Row;

use crate::{fault::Fault, rows::Cells};

/// The settings of an org.
pub(crate) const SETTINGS: &str = "
    select org_id, retention_days, updated_at, answer_seconds, require_other_person,
        allow_single_member, revision, policy_two_person
    from org_settings where org_id = $1";

/// The settings that a row is. Where an older version wrote it, nothing is said of what that version
/// does not know.
pub(crate) fn settings(row: &Row) -> Result<OrgSettings, Fault> {
    let cells = Cells::of("org_settings", row);
    let days: i32 = cells.get("retention_days")?;
    let revision = cells.get::<Option<i64>>("revision")?.unwrap_or(1);
    let time = |seconds: i64| {
        let seconds = u32::try_from(seconds).map_err(|why| cells.fault("answer_seconds", why))?;
        AnswerTime::of_seconds(seconds).map_err(|why| cells.fault("answer_seconds", why))
    };
    let require_other_person: Option<bool> = cells.get("require_other_person")?;
    let allow_single_member: Option<bool> = cells.get("allow_single_member")?;
    let policy_two_person: Option<bool> = cells.get("policy_two_person")?;
    Ok(OrgSettings {
        org: cells.id("org_id", OrgId::from_uuid)?,
        retention_days: u16::try_from(days).map_err(|why| cells.fault("retention_days", why))?,
        approvals: ApprovalSettings {
            default_expires_in: cells
                .get::<Option<i64>>("answer_seconds")?
                .map(time)
                .transpose()?,
            require_other_person: require_other_person.unwrap_or_default(),
            allow_single_member: allow_single_member.unwrap_or_default(),
        },
        policy_two_person: policy_two_person.unwrap_or_default(),
        revision: u32::try_from(revision).map_err(|why| cells.fault("revision", why))?,
        updated_at: cells.moment("updated_at")?,
    })
}
