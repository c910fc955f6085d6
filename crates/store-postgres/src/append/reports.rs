//! The reports whose evidence is waited for: kept by one turn, left behind the seal by another, and
//! removed by a third.

use ledger::record::ReportChange;
use model::OrgId;

use super::Step;
use crate::{database::Call, rows::system_time};

/// The statements that keep, leave and remove reports; those that are not needed are left out.
pub(super) fn steps(org: OrgId, rows: &[ReportChange]) -> impl Iterator<Item = Step<'_>> {
    let kept: Vec<_> = rows.iter().filter_map(ReportChange::kept).collect();
    let awaited: Vec<_> = rows.iter().filter_map(ReportChange::awaited).collect();
    let removed: Vec<_> = rows.iter().filter_map(ReportChange::removed).collect();
    let inserted = (!kept.is_empty()).then(|| {
        let sql = "
            insert into kept_report (org_id, action_id, record)
            select $1, r.* from unnest($2::uuid[], $3::text[]) as r";
        Call::new(sql)
            .with(*org.as_uuid())
            .with(kept.iter().map(|row| *row.action.as_uuid()).collect::<Vec<_>>())
            .with(kept.iter().map(|row| &*row.text).collect::<Vec<_>>())
    });
    let left = (!awaited.is_empty()).then(|| {
        let sql = "
            update kept_report as kept
            set record = r.record, connector_id = r.connector_id, awaited_since = r.awaited_since
            from unnest($2::uuid[], $3::text[], $4::uuid[], $5::timestamptz[])
                as r (action_id, record, connector_id, awaited_since)
            where kept.org_id = $1 and kept.action_id = r.action_id";
        Call::new(sql)
            .with(*org.as_uuid())
            .with(awaited.iter().map(|row| *row.report.action.as_uuid()).collect::<Vec<_>>())
            .with(awaited.iter().map(|row| &*row.report.text).collect::<Vec<_>>())
            .with(awaited.iter().map(|row| *row.connector.as_uuid()).collect::<Vec<_>>())
            .with(awaited.iter().map(|row| system_time(row.since)).collect::<Vec<_>>())
    });
    let deleted = (!removed.is_empty()).then(|| {
        let sql = "delete from kept_report where org_id = $1 and action_id = any($2::uuid[])";
        let actions: Vec<_> = removed.iter().map(|action| *action.as_uuid()).collect();
        Call::new(sql).with(*org.as_uuid()).with(actions)
    });
    inserted.into_iter().chain(left).chain(deleted).map(Step::rows)
}
