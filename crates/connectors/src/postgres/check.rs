//! Looking at a governed database: what is as it should be, what could be better, and what is
//! missing, one line each.
//!
//! Lines tell what to do and never what the database holds.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use model::ToolName;
use serde_json::Value;
use tokio_postgres::Client;

use super::{
    PostgresConnector, PostgresTool,
    accepted::accepted_schema,
    chains, config,
    fault::{ConnectError, SessionError, sentence},
    governed::{Governed, SMALL_ANSWER},
    pool::{Lease, Pool},
    rights::{self, Want},
    session::Access,
};
use crate::{Blueprint, BuildError, CheckLine, CheckState, Deps, connector::remedied};

/// One question to the database, answered with true or false.
struct Question {
    name: &'static str,
    sql: &'static str,
    otherwise: CheckState,
    detail: &'static str,
}

#[rustfmt::skip]
const QUESTIONS: &[Question] = &[
    Question {
        name: "schema `service`",
        sql: "select to_regnamespace('service') is not null",
        otherwise: CheckState::Fail,
        detail: "run the setup script",
    },
    Question {
        name: "ledger",
        sql: "select to_regclass('service.ledger') is not null",
        otherwise: CheckState::Fail,
        detail: "run the setup script",
    },
    Question {
        name: "ledger is closed to tools",
        sql: "select coalesce(not has_table_privilege(
                  to_regclass('service.ledger'), 'select, insert, update, delete, truncate'), false)",
        otherwise: CheckState::Fail,
        detail: "run the setup script; tools may access the ledger only through its functions",
    },
    Question {
        name: "writes can begin",
        sql: "select coalesce(has_function_privilege(to_regprocedure(
                  'service.begin_action(text, text, text, text, text, text, text)'), 'execute'), false)",
        otherwise: CheckState::Fail,
        detail: "run the setup script",
    },
    Question {
        name: "writes can be settled",
        sql: "select coalesce(has_function_privilege(to_regprocedure(
                  'service.void_action(text, text, text, text, text)'), 'execute'), false)",
        otherwise: CheckState::Fail,
        detail: "run the setup script",
    },
    Question {
        name: "database takes writes",
        sql: "select not pg_is_in_recovery()",
        otherwise: CheckState::Fail,
        detail: "connect to the primary: this is a standby",
    },
    Question {
        name: "change log",
        sql: "select current_setting('wal_level') = 'logical'",
        otherwise: CheckState::Advice,
        detail: "set `wal_level = logical` to have writes witnessed in the change log",
    },
    Question {
        name: "only the service can emit logical messages",
        sql: "select not exists (
                  select from pg_proc
                  where proname = 'pg_logical_emit_message'
                  and pronamespace = 'pg_catalog'::regnamespace
                  and has_function_privilege('public', oid, 'execute'))",
        otherwise: CheckState::Advice,
        detail: "run the block that the end of the setup script recommends, if nothing else of \
                 yours uses `pg_logical_emit_message`",
    },
];

const QUESTION_LIMIT: Duration = Duration::from_secs(5);

/// The lines, also for a config that cannot be built.
pub(crate) async fn check(
    blueprint: &Blueprint,
    deps: &Deps,
) -> Result<Vec<CheckLine>, BuildError> {
    Ok(lines(blueprint, deps).await)
}

/// What can be looked at, as far as what it rests on passed.
async fn lines(blueprint: &Blueprint, deps: &Deps) -> Vec<CheckLine> {
    let config = match config::read(&blueprint.name, &blueprint.config) {
        Ok((config, _)) => config,
        Err(findings) => return failures(&BuildError::Config { findings }),
    };
    let mut lines = vec![pass("config")];
    if let Err(error) = deps.egress.vet(&config.host, config.port).await {
        lines.push(fail("address", error.to_string()));
        return lines;
    }
    lines.push(pass("address"));
    let governed = match Governed::new(&config, blueprint, deps) {
        Ok(governed) => governed,
        Err(error) => {
            lines.extend(failures(&error));
            return lines;
        }
    };
    let wants = rights::of_writer(&config);
    lines.extend(governed.ask(&governed.writes, &config.user, (QUESTIONS, &wants)).await);
    if let Some(user) = &config.read_user {
        let wants = rights::of_reader(&config);
        lines.extend(governed.ask(&governed.reads, user, (&[], &wants)).await);
    }
    if lines.iter().any(|line| line.name.starts_with("login") && line.state == CheckState::Fail) {
        return lines;
    }
    // What the database says now, whatever was accepted.
    let afresh = Blueprint { tools: BTreeMap::new(), ..blueprint.clone() };
    match PostgresConnector::build(&afresh, deps).await {
        Ok(built) => lines.extend(of_tools(&built, &blueprint.tools)),
        Err(error) => lines.extend(failures(&error)),
    }
    lines
}

/// Whether the tools are those that were accepted.
fn of_tools(built: &PostgresConnector, accepted: &BTreeMap<ToolName, Value>) -> Vec<CheckLine> {
    let changed = built.tools.iter().filter(|tool| {
        let name = &tool.definition.name;
        accepted.contains_key(name)
            && !accepted_schema(accepted, name).is_some_and(|schema| schema.matches(tool))
    });
    let detail = "the statement has other types in the database than when the tool was accepted, so its calls \
        are refused: review it, then accept it with `chancery connector update`";
    let line = |tool: &Arc<PostgresTool>| {
        fail(&format!("tool `{}`", tool.definition.name), detail.to_owned())
    };
    let mut lines: Vec<CheckLine> = changed.map(line).collect();
    if lines.is_empty() {
        lines.push(pass(&format!("all {} tools fit", built.tools.len())));
    }
    lines.extend(chains::lines(&built.tools));
    lines
}

impl Governed {
    /// Logs in and asks the questions.
    async fn ask(
        &self,
        pool: &Arc<Pool>,
        user: &str,
        (questions, wants): (&[Question], &[Want]),
    ) -> Vec<CheckLine> {
        let login = format!("login of `{user}`");
        let begun =
            self.begin(pool, Access::ReadOnly, (&self.pace(QUESTION_LIMIT), SMALL_ANSWER)).await;
        let connections = format!("connections of `{user}`");
        let lease = match begun {
            Ok((lease, _)) => lease,
            Err(SessionError::Connect(ConnectError::Shared)) => {
                return vec![pass(&login), shared(&connections)];
            }
            Err(error) => return vec![fail(&login, remedied(&error.fault()))],
        };
        let mut lines = vec![pass(&login)];
        for question in questions {
            lines.push(question.ask(&lease.session.client).await);
        }
        for want in wants {
            lines.push(want.line(&lease.session.client, user).await);
        }
        lines.push(own_process(pool, lease, &connections).await);
        lines
    }
}

/// Whether each connection has a server process of its own. The transaction of the first one has
/// shown that it kept its process; a pooler that gives processes away between transactions gives
/// the same one to the second connection, while the first is still open.
async fn own_process(pool: &Pool, mut first: Lease, name: &str) -> CheckLine {
    if !first.end().await {
        return advice(name, "the first connection broke before a second one was opened".into());
    }
    let line = match pool.open().await {
        Ok(second) if second.process() == first.session.process() => shared(name),
        Ok(_) => pass(name),
        Err(error) => advice(name, format!("a second connection could not be opened: {error}")),
    };
    first.give_back();
    line
}

fn shared(name: &str) -> CheckLine {
    fail(name, ConnectError::Shared.to_string())
}

impl Question {
    async fn ask(&self, client: &Client) -> CheckLine {
        let answer = client.query_typed(self.sql, &[]).await;
        let answer = answer.and_then(|rows| rows.first().map(|row| row.try_get(0)).transpose());
        match answer {
            Ok(Some(true)) => pass(self.name),
            Ok(Some(false) | None) => CheckLine {
                name: self.name.to_owned(),
                state: self.otherwise,
                detail: self.detail.to_owned(),
            },
            Err(error) => {
                let said = error.as_db_error().map(sentence).unwrap_or_default();
                fail(self.name, format!("the check could not be run; {said}"))
            }
        }
    }
}

fn failures(error: &BuildError) -> Vec<CheckLine> {
    match error {
        BuildError::Config { findings } => {
            findings.iter().map(|finding| fail(&finding.at, finding.message.clone())).collect()
        }
        BuildError::UnknownKind { .. } | BuildError::Credential { .. } | BuildError::Connect(_) => {
            vec![fail("connector", error.to_string())]
        }
    }
}

pub(super) fn pass(name: &str) -> CheckLine {
    CheckLine { name: name.to_owned(), state: CheckState::Pass, detail: String::new() }
}

pub(super) fn advice(name: &str, detail: String) -> CheckLine {
    CheckLine { name: name.to_owned(), state: CheckState::Advice, detail }
}

pub(super) fn fail(name: &str, detail: String) -> CheckLine {
    CheckLine { name: name.to_owned(), state: CheckState::Fail, detail }
}
