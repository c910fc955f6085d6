//! Every metric in one table: its name, its labels, what it means and where it is read.

use std::{fmt::Write, sync::atomic::Ordering::Relaxed};

use connectors::InUse;
use people::Leaving;
use prometheus::proto::MetricType;
use store_postgres::Pool;

use super::{Moment, page::Series, process::Process};
use crate::work::Worker;

/// One metric.
pub(super) struct Row {
    /// Its name.
    pub(super) name: &'static str,
    /// What it is.
    pub(super) kind: MetricType,
    /// What its series are told apart by.
    labels: &'static str,
    /// What it means.
    pub(super) help: &'static str,
    /// Writes its series.
    pub(super) read: fn(&Moment<'_>, &mut Series),
}

pub(super) const fn row(
    name: &'static str,
    kind: MetricType,
    labels: &'static str,
    help: &'static str,
    read: fn(&Moment<'_>, &mut Series),
) -> Row {
    Row { name, kind, labels, help, read }
}

use MetricType::{COUNTER, GAUGE, HISTOGRAM};

/// Every metric.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("process_cpu_seconds_total",            COUNTER,   "",                      "CPU time of the process, including system time, in seconds.",                      |it, page| of_process(it, page, |process| process.cpu_seconds)),
    row("process_start_time_seconds",           GAUGE,     "",                      "Start time of the process, in seconds of Unix time.",                              |it, page| of_process(it, page, |process| process.started)),
    row("process_resident_memory_bytes",        GAUGE,     "",                      "Resident memory of the process, in bytes.",                                        |it, page| count_of_process(it, page, |process| Some(process.resident))),
    row("process_virtual_memory_bytes",         GAUGE,     "",                      "Virtual memory of the process, in bytes.",                                         |it, page| count_of_process(it, page, |process| Some(process.addressed))),
    row("process_threads",                      GAUGE,     "",                      "Threads of the process.",                                                          |it, page| count_of_process(it, page, |process| Some(process.threads))),
    row("process_open_fds",                     GAUGE,     "",                      "Open file descriptors of the process, including sockets.",                         |it, page| count_of_process(it, page, |process| Some(process.open_files))),
    row("process_max_fds",                      GAUGE,     "",                      "Maximum number of open file descriptors of the process.",                          |it, page| count_of_process(it, page, |process| process.most_files)),
    row("chancery_http_requests_total",         COUNTER,   "route, method, status", "Responses sent, by route, method and status; requests that match no route have the route `none`.", http_requests),
    row("chancery_http_request_seconds",        HISTOGRAM, "route, method",         "Time from a request's head to the head of its response; for streams and waits, the time until they begin or end.", http_seconds),
    row("chancery_http_requests_in_flight",     GAUGE,     "",                      "Requests without a response yet.",                                                 |it, page| page.count(&[], it.watched.router.traffic().in_flight.get())),
    row("chancery_http_connections",            GAUGE,     "",                      "Open client connections.",                                                         |it, page| page.count(&[], it.watched.connections.get())),
    row("chancery_http_body_bytes",             GAUGE,     "",                      "Bytes of request bodies that are held in memory; `SERVICE_BODY_MEMORY` is the limit.", |it, page| page.count(&[], it.watched.router.body_bytes() as u64)),
    row("chancery_webhook_tries_total",         COUNTER,   "outcome",               "Attempts at webhook deliveries, by whether the endpoint accepted them.",           webhook_tries),
    row("chancery_webhook_deliveries_dead_total", COUNTER, "",                      "Webhook deliveries that failed in their last attempt and were never accepted.",    |it, page| page.count(&[], it.watched.work.posts.dead.load(Relaxed))),
    row("chancery_webhook_endpoints_disabled_total", COUNTER, "",                   "Webhook endpoints that were disabled because they accepted nothing.",              |it, page| page.count(&[], it.watched.work.posts.disabled.load(Relaxed))),
    row("chancery_change_logs",                 GAUGE,     "",                      "Change logs of governed databases that this process follows.",                     |it, page| page.count(&[], it.logs.followed)),
    row("chancery_change_logs_broken",          GAUGE,     "",                      "Followed change logs that cannot be read further until somebody intervenes.",      |it, page| page.count(&[], it.logs.broken)),
    row("chancery_change_logs_stalled",         GAUGE,     "",                      "Followed change logs in which no heartbeat was read for `decoder.heartbeat_deadline`.", |it, page| page.count(&[], it.logs.stalled)),
    row("chancery_change_log_held_bytes",       GAUGE,     "",                      "Largest amount of log that a slot prevents its database from removing, in bytes.", |it, page| page.count(&[], it.logs.held_bytes)),
    row("chancery_change_logs_lagging",         GAUGE,     "",                      "Followed change logs whose slot retains more log than `SERVICE_SLOT_LAG_ALERT_MB`.", |it, page| page.count(&[], it.logs.lagging)),
    row("chancery_change_log_changes_total",    COUNTER,   "",                      "Row changes that were read from change logs.",                                     |it, page| page.count(&[], it.logs.tally.changes)),
    row("chancery_change_log_transactions_total", COUNTER, "whose",                 "Transactions that were read from change logs, by origin: an action's, nobody's, one that imitates an action's, or one that changed the ledger.", change_log_transactions),
    row("chancery_change_log_misfits_total",    COUNTER,   "what",                  "Ledger rows that no transaction in the log wrote, and transactions whose rows are not in the ledger.", change_log_misfits),
    row("chancery_event_streams",               GAUGE,     "",                      "Open event streams.",                                                              |it, page| page.count(&[], it.held_open.streams as u64)),
    row("chancery_waits",                       GAUGE,     "",                      "Open waits for an action.",                                                        |it, page| page.count(&[], it.held_open.waits as u64)),
    row("chancery_policy_runs",                 GAUGE,     "",                      "Tests, lints and comparisons of policies in progress.",                            |it, page| page.count(&[], it.held_open.policy_runs as u64)),
    row("chancery_policy_run_steps_total",      COUNTER,   "",                      "Evaluation steps of policy tests.",                                                |it, page| page.count(&[], it.watched.router.state().policy_steps())),
    row("chancery_turns_total",                 COUNTER,   "",                      "Durable turns of the ledger.",                                                     |it, page| page.count(&[], it.watched.ledger.figures().turns.load(Relaxed))),
    row("chancery_turn_requests",               HISTOGRAM, "",                      "Requests decided in each turn.",                                                   |it, page| page.spread(&[], &it.watched.ledger.figures().requests)),
    row("chancery_turn_seconds",                HISTOGRAM, "",                      "Time from the drafting of a durable turn to its responses.",                       |it, page| page.spread(&[], &it.watched.ledger.figures().seconds)),
    row("chancery_turns_lost_total",            COUNTER,   "",                      "Turns that a turn of another instance made void; they were decided again.",        |it, page| page.count(&[], it.watched.ledger.figures().lost_heads.load(Relaxed))),
    row("chancery_turns_ahead_total",           COUNTER,   "",                      "Turns that were decided and signed while the previous turn was being committed.",  |it, page| page.count(&[], it.watched.ledger.figures().ahead.load(Relaxed))),
    row("chancery_turns_redrafted_total",       COUNTER,   "",                      "Turns that were drafted ahead, based on a turn that did not become durable; they were decided again.", |it, page| page.count(&[], it.watched.ledger.figures().redrafted.load(Relaxed))),
    row("chancery_turns_in_order_total",        COUNTER,   "",                      "Turns for which the head was locked in order because other instances write to the org.", |it, page| page.count(&[], it.watched.ledger.figures().in_order.load(Relaxed))),
    row("chancery_turns_failed_total",          COUNTER,   "",                      "Turns that could not be made durable; their callers received an error.",           |it, page| page.count(&[], it.watched.ledger.figures().failed.load(Relaxed))),
    row("chancery_turns_in_doubt_total",        COUNTER,   "",                      "Commits whose response was lost.",                                                 |it, page| page.count(&[], it.watched.ledger.figures().doubts.load(Relaxed))),
    row("chancery_turn_queue_requests",         GAUGE,     "",                      "Requests whose turn has not begun.",                                               |it, page| page.count(&[], it.backlog.requests as u64)),
    row("chancery_turn_queue_oldest_seconds",   GAUGE,     "",                      "Time for which the oldest request has been without a response; health is `degraded` above 10.", |it, page| page.value(&[], it.backlog.oldest.as_secs_f64())),
    row("chancery_deeds_sealed_total",          COUNTER,   "",                      "Deeds that were sealed and committed.",                                            |it, page| page.count(&[], it.watched.ledger.figures().deeds.load(Relaxed))),
    row("chancery_sealing_held",                GAUGE,     "",                      "1 if the last deed that was due could not be sealed, otherwise 0.",                |it, page| page.count(&[], it.watched.ledger.figures().sealing_is_held().into())),
    row("chancery_database_up",                 GAUGE,     "",                      "0 while the control database does not respond or accepts no writes, otherwise 1.", |it, page| page.count(&[], (!it.watched.outages.database_is_down()).into())),
    row("chancery_orgs_out_of_reach",           GAUGE,     "",                      "Orgs on nodes of the control database that do not respond; always 0 if it has one node.", |it, page| page.count(&[], it.watched.outages.orgs().unreached() as u64)),
    row("chancery_mails_total",                 COUNTER,   "outcome",               "Attempts to send a mail, by result: `sent`, `put_off`, or permanently `refused`. Absent if no way to send mail is configured.", mails),
    row("chancery_mail_up",                     GAUGE,     "",                      "0 while no mail would be accepted, otherwise 1. Absent if no way to send mail is configured.", mail_up),
    row("chancery_connectors_out_of_reach",     GAUGE,     "connector, reason",     "1 for each connector that was unreachable at the last attempt, by its id and the code that its calls fail with.", connectors_out_of_reach),
    row("chancery_database_connections",        GAUGE,     "pool, state",           "Connections to the control database, `idle` or in `use`, for `turns` and related work or for `reading`.", database_connections),
    row("chancery_database_connections_max",    GAUGE,     "pool",                  "Maximum connections of a pool.",                                                   |it, page| of_pools(it, page, |pool| pool.most)),
    row("chancery_database_waiting",            GAUGE,     "pool",                  "Calls that wait for a connection of a pool.",                                      |it, page| of_pools(it, page, |pool| pool.waiting)),
    row("chancery_worker_rounds_total",         COUNTER,   "worker, outcome",       "Rounds of each worker, `done` or `failed`.",                                       worker_rounds),
    row("chancery_leases_lost_total",           COUNTER,   "",                      "Leases that expired or were taken over by another instance while their runs continued here.", |it, page| page.count(&[], it.watched.work.leases_lost.load(Relaxed))),
    row("chancery_walk_age_seconds",            GAUGE,     "",                      "Time since the last complete walk through every log ended, in seconds; before the first one, the time since the process started.", |it, page| page.value(&[], it.watched.work.walked.age().as_secs_f64())),
    row("chancery_due_actions",                 GAUGE,     "",                      "Due actions that the last sweeps examined: late reports, expired approvals, runs of lost instances, calls whose evidence is no longer awaited.", |it, page| page.count(&[], it.watched.work.due_now())),
    row("chancery_due_actions_total",           COUNTER,   "",                      "Due actions that sweeps examined.",                                                |it, page| page.count(&[], it.watched.work.due.load(Relaxed))),
];

fn of_process(moment: &Moment<'_>, page: &mut Series, value: fn(&Process) -> f64) {
    if let Some(process) = &moment.process {
        page.value(&[], value(process));
    }
}

fn count_of_process(moment: &Moment<'_>, page: &mut Series, count: fn(&Process) -> Option<u64>) {
    if let Some(count) = moment.process.as_ref().and_then(count) {
        page.count(&[], count);
    }
}

fn http_requests(moment: &Moment<'_>, page: &mut Series) {
    for route in moment.watched.router.traffic().routes() {
        for (status, count) in route.answers() {
            let labels = [("route", route.path), ("method", route.method), ("status", &status)];
            page.count(&labels, count);
        }
    }
}

fn http_seconds(moment: &Moment<'_>, page: &mut Series) {
    for route in moment.watched.router.traffic().routes() {
        // A route that nobody asked for has nothing to say, and eighteen lines to say it in.
        if route.answers().next().is_some() {
            page.spread(&[("route", route.path), ("method", route.method)], &route.seconds);
        }
    }
}

fn mails(moment: &Moment<'_>, page: &mut Series) {
    let Some(post) = &moment.watched.outages.post else { return };
    let Leaving { sent, put_off, refused, .. } = post.leaving();
    for (outcome, count) in [("sent", sent), ("put_off", put_off), ("refused", refused)] {
        page.count(&[("outcome", outcome)], count.load(Relaxed));
    }
}

fn mail_up(moment: &Moment<'_>, page: &mut Series) {
    if let Some(post) = &moment.watched.outages.post {
        page.count(&[], post.leaving().trouble().is_none().into());
    }
}

fn connectors_out_of_reach(moment: &Moment<'_>, page: &mut Series) {
    for (InUse { id, .. }, fault) in moment.watched.outages.tools.lost(None) {
        page.count(&[("connector", &id.to_string()), ("reason", fault.code.as_str())], 1);
    }
}

fn database_connections(moment: &Moment<'_>, page: &mut Series) {
    for (name, pool) in pools(moment) {
        page.count(&[("pool", name), ("state", "idle")], pool.idle as u64);
        page.count(&[("pool", name), ("state", "use")], pool.in_use as u64);
    }
}

fn of_pools(moment: &Moment<'_>, page: &mut Series, value: fn(Pool) -> usize) {
    for (name, pool) in pools(moment) {
        page.count(&[("pool", name)], value(pool) as u64);
    }
}

fn pools(moment: &Moment<'_>) -> [(&'static str, Pool); 2] {
    [("turns", moment.pools.turns), ("reading", moment.pools.reading)]
}

fn worker_rounds(moment: &Moment<'_>, page: &mut Series) {
    for worker in Worker::ALL {
        let rounds = moment.watched.work.of(worker);
        let (done, failed) = (rounds.done.load(Relaxed), rounds.failed.load(Relaxed));
        for (outcome, count) in [("done", done), ("failed", failed)] {
            page.count(&[("worker", worker.as_str()), ("outcome", outcome)], count);
        }
    }
}

fn change_log_transactions(it: &Moment<'_>, page: &mut Series) {
    let tally = it.logs.tally;
    page.count(&[("whose", "attributed")], tally.attributed);
    page.count(&[("whose", "unattributed")], tally.unattributed);
    page.count(&[("whose", "forged")], tally.forged);
    page.count(&[("whose", "ledger_tampered")], tally.tampered);
}

fn change_log_misfits(it: &Moment<'_>, page: &mut Series) {
    let misfits = it.logs.misfits;
    page.count(&[("what", "ledger_without_frame")], misfits.without_frame);
    page.count(&[("what", "frame_without_ledger")], misfits.without_row);
}

fn webhook_tries(it: &Moment<'_>, page: &mut Series) {
    let posts = &it.watched.work.posts;
    for (outcome, count) in [("delivered", &posts.delivered), ("failed", &posts.failed)] {
        page.count(&[("outcome", outcome)], count.load(Relaxed));
    }
}

/// The page of `docs/metrics.md`.
pub fn metrics_markdown() -> String {
    let mut page = String::from(
        "# Metrics\n\nGenerated from the table in `crates/server/src/metrics/table.rs`; do not edit \
         this page.\n\n`SERVICE_METRICS_LISTEN` sets the address at which `GET /metrics` returns the \
         metrics in the Prometheus text format. The endpoint requires no credential: bind it to an \
         address that only monitoring can reach. No series names an org, an agent or a key; a \
         connector that is unreachable is named by its id. Counters start at zero with each process. \
         The metrics of the process itself are available only on Linux.\n\n\
         | Metric | Kind | Labels | Meaning |\n|---|---|---|---|\n",
    );
    for Row { name, kind, labels, help, .. } in ROWS {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| `{name}` | {} | {labels} | {help} |", super::page::word(*kind));
    }
    page
}
