//! What is written once and never again: disclosures, deeds, nodes of their tree, and events.

use std::error::Error;

use bytes::BytesMut;
use deed::{Disclosure, tree::Node};
use ledger::{Place, Turn, record::NewAction};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use super::Step;
use crate::{
    database::Call,
    rows::{bigint, system_time},
};

/// The statements that write the turn's evidence.
pub(crate) fn steps<'a>(turn: &'a Turn, new_actions: &'a [NewAction]) -> Vec<Step<'a>> {
    let opened = opened(turn, new_actions);
    let has_nodes = turn.deeds.iter().any(|deed| !deed.sealed.new_nodes.is_empty());
    let steps = [
        (!opened.is_empty()).then(|| Step::rows(disclosures(turn, &opened))),
        (!turn.deeds.is_empty()).then(|| Step::race(deeds(turn))),
        has_nodes.then(|| Step::race(nodes(turn))),
        (!turn.events.is_empty()).then(|| Step::race(events(turn))),
    ];
    steps.into_iter().flatten().collect()
}

/// Each disclosure with whoever it belongs to: the action for what was disclosed when it
/// began, the deed for the rest.
fn opened<'a>(turn: &'a Turn, new_actions: &'a [NewAction]) -> Vec<(Uuid, &'a Disclosure)> {
    let new_actions = new_actions.iter().map(|new| (*new.action.id.as_uuid(), &new.disclosures));
    let sealed = turn.deeds.iter().map(|deed| (*deed.sealed.id.as_uuid(), &deed.disclosures));
    new_actions
        .chain(sealed)
        .flat_map(|(owner, all)| all.iter().map(move |disclosure| (owner, disclosure)))
        .collect()
}

fn disclosures<'a>(turn: &'a Turn, opened: &[(Uuid, &'a Disclosure)]) -> Call<'a> {
    let sql = "
        insert into disclosure (org_id, owner_id, path, text)
        select $1::uuid, r.* from unnest($2::uuid[], $3::text[], $4::text[]) as r
        returning 1";
    Call::new(sql)
        .with(*turn.org.as_uuid())
        .with(opened.iter().map(|(owner, _)| *owner).collect::<Vec<_>>())
        .with(opened.iter().map(|(_, opens)| opens.path().as_str()).collect::<Vec<_>>())
        .with(opened.iter().map(|(_, opens)| Opening(opens)).collect::<Vec<_>>())
}

/// More bytes than a statement has behind its last value.
const BEHIND: usize = 256;

/// A disclosure's text, written to the driver's buffer part by part: the value in it may be large.
#[derive(Debug)]
struct Opening<'a>(&'a Disclosure);

impl ToSql for Opening<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let parts = self.0.parts();
        // Made room for in one step, with what stands behind it: a buffer that is full doubles.
        out.reserve(parts.iter().map(|part| part.len()).sum::<usize>() + BEHIND);
        for part in &parts {
            out.extend_from_slice(part.as_bytes());
        }
        Ok(IsNull::No)
    }

    fn accepts(of: &Type) -> bool {
        <&str as ToSql>::accepts(of)
    }

    to_sql_checked!();
}

fn deeds(turn: &Turn) -> Call<'_> {
    let sql = "
        insert into deed
            (org_id, seq, id, kind, agent_id, action_id, issued_at, body, digest, signature,
             key_id)
        select $1::uuid, r.*
        from unnest($2::bigint[], $3::uuid[], $4::text[], $5::uuid[], $6::uuid[],
            $7::timestamptz[], $8::text[], $9::bytea[], $10::bytea[], $11::text[]) as r
        returning 1";
    Call::new(sql)
        .with(*turn.org.as_uuid())
        .with(column(&turn.deeds, |deed| place(turn, deed.sealed.seq)))
        .with(column(&turn.deeds, |deed| *deed.sealed.id.as_uuid()))
        .with(column(&turn.deeds, |deed| deed.sealed.kind.as_str()))
        .with(column(&turn.deeds, |deed| deed.agent.map(|id| *id.as_uuid())))
        .with(column(&turn.deeds, |deed| deed.action.map(|id| *id.as_uuid())))
        .with(column(&turn.deeds, |deed| system_time(deed.sealed.issued_at)))
        .with(column(&turn.deeds, |deed| deed.sealed.body.as_str()))
        .with(column(&turn.deeds, |deed| &deed.sealed.digest.as_bytes()[..]))
        .with(column(&turn.deeds, |deed| &deed.sealed.signature[..]))
        .with(column(&turn.deeds, |deed| deed.sealed.key_id.as_str()))
}

fn nodes(turn: &Turn) -> Call<'_> {
    let sql = "
        insert into log_node (org_id, level, index, hash)
        select $1::uuid, r.* from unnest($2::smallint[], $3::bigint[], $4::bytea[]) as r
        returning 1";
    let log = turn.head.log_no;
    let nodes: Vec<_> = turn.deeds.iter().flat_map(|deed| &deed.sealed.new_nodes).collect();
    let index = |node: &Node| Place::node(log, node.level, node.index).map(bigint);
    Call::new(sql)
        .with(*turn.org.as_uuid())
        .with(nodes.iter().map(|node| i16::from(node.level)).collect::<Vec<_>>())
        .with(nodes.iter().map(|node| index(node)).collect::<Vec<_>>())
        .with(nodes.iter().map(|node| &node.hash.as_bytes()[..]).collect::<Vec<_>>())
}

fn events(turn: &Turn) -> Call<'_> {
    let sql = "
        insert into event
            (org_id, seq, id, kind, created_at, livemode, agent_id, action_id, data)
        select $1::uuid, r.*
        from unnest($2::bigint[], $3::uuid[], $4::text[], $5::timestamptz[], $6::boolean[],
            $7::uuid[], $8::uuid[], $9::text[]) as r
        returning 1";
    Call::new(sql)
        .with(*turn.org.as_uuid())
        .with(column(&turn.events, |event| bigint(event.seq)))
        .with(column(&turn.events, |event| *event.id.as_uuid()))
        .with(column(&turn.events, |event| event.kind.as_str()))
        .with(column(&turn.events, |event| system_time(event.created_at)))
        .with(column(&turn.events, |event| event.livemode))
        .with(column(&turn.events, |event| event.agent.map(|id| *id.as_uuid())))
        .with(column(&turn.events, |event| event.action.map(|id| *id.as_uuid())))
        .with(column(&turn.events, |event| event.object.to_string()))
}

/// All deeds of a turn are in the log that is open after it.
fn place(turn: &Turn, seq: u64) -> i64 {
    bigint(Place::of(turn.head.log_no, seq).as_u64())
}

/// One column of the rows, as `unnest` takes it.
fn column<'a, R, T>(rows: &'a [R], value: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}
