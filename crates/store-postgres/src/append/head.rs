//! The org's head, which every turn moves, and the row that proves that the turn was committed.

use ledger::{Head, HeadMark, Turn};

use super::Step;
use crate::{
    database::Call,
    rows::{bigint, system_time},
};

/// The statement that moves the head, and fails when it has moved already.
pub(crate) fn moved(turn: &Turn, expected: HeadMark) -> Step<'_> {
    let sql = "
        with moved as (
            update org_head
            set version = $2, log = $3, size = $4, last_digest = $5, frontier = $6,
                issued_at = $7, event_seq = $8
            where org_id = $1 and version = $9 and log = $10 and last_digest = $11
                and $7 <= greatest(now() + interval '2 seconds', org_head.issued_at)
            returning version
        )
        select 1 / count(*) from moved";
    // A deed of a time that has not come would hold the org's time there, on every instance, until
    // it has; whoever loses by that looks afresh and is told the time.
    let log = turn.closes.as_ref().unwrap_or(&turn.head).chain.log();
    let HeadMark { version, last } = expected;
    let call = with_head(Call::new(sql), turn).with(bigint(version)).with(log.as_str());
    Step::race(call.with(last.as_bytes().to_vec()))
}

/// The statement that keeps the head of a log that the turn closes.
pub(crate) fn closed<'a>(turn: &'a Turn, head: &'a Head) -> Step<'a> {
    let sql = "
        insert into closed_log
            (org_id, no, log, size, last_digest, frontier, issued_at, event_seq, closed_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let chain = &head.chain;
    let call = Call::new(sql)
        .with(*turn.org.as_uuid())
        .with(i32::try_from(head.log_no.get()).unwrap_or(i32::MAX))
        .with(chain.log().as_str())
        .with(bigint(chain.size()))
        .with(&chain.last().as_bytes()[..])
        .with(chain.frontier().to_bytes())
        .with(system_time(chain.issued_at()))
        .with(bigint(head.event_seq))
        .with(system_time(turn.at));
    Step::race(call)
}

/// The statement that makes the head of a new org.
pub(crate) fn made(turn: &Turn) -> Step<'_> {
    let sql = "
        insert into org_head
            (org_id, version, log, size, last_digest, frontier, issued_at, event_seq)
        values ($1, $2, $3, $4, $5, $6, $7, $8)";
    Step::race(with_head(Call::new(sql), turn))
}

/// The statement that records the turn itself.
pub(crate) fn turn(turn: &Turn) -> Step<'_> {
    let sql = "insert into turn (org_id, id, version, at) values ($1, $2, $3, $4)";
    let call = Call::new(sql)
        .with(*turn.org.as_uuid())
        .with(turn.id)
        .with(bigint(turn.head.version))
        .with(system_time(turn.at));
    Step::race(call)
}

fn with_head<'a>(call: Call<'a>, turn: &'a Turn) -> Call<'a> {
    let chain = &turn.head.chain;
    call.with(*turn.org.as_uuid())
        .with(bigint(turn.head.version))
        .with(chain.log().as_str())
        .with(bigint(chain.size()))
        .with(&chain.last().as_bytes()[..])
        .with(chain.frontier().to_bytes())
        .with(system_time(chain.issued_at()))
        .with(bigint(turn.head.event_seq))
}
