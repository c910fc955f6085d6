//! The intents that the turn's new actions used up, in one statement.

use ledger::record::UsedIntent;
use model::OrgId;

use super::Step;
use crate::{database::Call, rows::system_time};

/// The statement that keeps what is known of these intents.
pub(super) fn step(org: OrgId, rows: &[UsedIntent]) -> Step<'_> {
    let sql = "
        insert into used_intent
            (org_id, action_id, agent_id, kid, digest, nonce, issued_at, expires_at, used_at)
        select $1, r.*
        from unnest($2::uuid[], $3::uuid[], $4::text[], $5::bytea[], $6::bytea[],
            $7::timestamptz[], $8::timestamptz[], $9::timestamptz[]) as r";
    let moments = |of: fn(&UsedIntent) -> model::Timestamp| {
        rows.iter().map(|row| system_time(of(row))).collect::<Vec<_>>()
    };
    let call = Call::new(sql)
        .with(*org.as_uuid())
        .with(rows.iter().map(|row| *row.action.as_uuid()).collect::<Vec<_>>())
        .with(rows.iter().map(|row| *row.agent.as_uuid()).collect::<Vec<_>>())
        .with(rows.iter().map(|row| row.kid.as_str()).collect::<Vec<_>>())
        .with(rows.iter().map(|row| &row.digest.as_bytes()[..]).collect::<Vec<_>>())
        .with(rows.iter().map(|row| &row.nonce.as_bytes()[..]).collect::<Vec<_>>())
        .with(moments(|row| row.issued_at))
        .with(moments(|row| row.expires_at))
        .with(moments(|row| row.used_at));
    Step::rows(call)
}
