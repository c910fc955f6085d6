//! What a check found, as lines for a person and as JSON. Looks at nothing itself.

use connectors::{CheckLine, CheckState};
use model::{ConnectorId, OrgId};
use serde_json::{Value, json};
use store_postgres::{Finding, Looked, Part};

use crate::exit::Exit;

/// What was found.
#[derive(Debug)]
pub(super) struct Report {
    record: Vec<Finding>,
    /// The orgs that could not be looked at: a node of the control database is away.
    unreached: Vec<OrgId>,
    /// What a start of the service would say, if it is more than nothing.
    start: Option<(CheckState, String)>,
    /// Whether mails would be taken now; `None` where that was not looked at.
    pub(super) mail: Option<CheckLine>,
    /// The partitions of the past that are away, and were not looked at.
    pub(super) away: Vec<Part>,
    /// The governed systems.
    pub(super) systems: Vec<System>,
}

/// What was found of one governed system.
#[derive(Debug)]
pub(super) struct System {
    /// The connector's org.
    pub(super) org: OrgId,
    /// The connector.
    pub(super) id: ConnectorId,
    /// Its name.
    pub(super) name: String,
    /// What its adapter found.
    pub(super) lines: Vec<CheckLine>,
}

impl Report {
    /// The report of a record, before anything else was looked at.
    pub(super) fn of(Looked { findings: record, unreached }: Looked) -> Self {
        let (away, systems) = (Vec::new(), Vec::new());
        Self { record, unreached, start: None, mail: None, away, systems }
    }

    /// Notes why the service was not put together, so that no system was looked at.
    pub(super) fn not_started(&mut self, state: CheckState, sentence: String) {
        self.start = Some((state, sentence));
    }

    /// What the process ends with.
    pub(super) fn exit(&self) -> Exit {
        let record = self.record.iter().any(|finding| finding.violations > 0);
        let start = self.start.as_ref().is_some_and(|(state, _)| *state == CheckState::Fail);
        let mail = self.mail.as_ref().is_some_and(|line| line.state == CheckState::Fail);
        match exit_of(&self.systems) {
            _ if record || start || mail => Exit::FoundBad,
            Exit::Ok if !self.unreached.is_empty() => Exit::Undecidable,
            exit => exit,
        }
    }

    /// The lines for a person.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec!["the record".to_owned()];
        for finding in &self.record {
            let (name, sentence) = (finding.invariant.name, finding.invariant.sentence);
            if finding.violations == 0 {
                lines.push(format!("ok    {name}  {sentence}"));
                continue;
            }
            lines.push(format!("FAIL  {name}  violated: {sentence}; {} rows", finding.violations));
            lines.extend(finding.first.iter().map(|offender| format!("        {offender}")));
        }
        if let Some(first) = self.unreached.first() {
            let orgs = self.unreached.len();
            lines.push(format!(
                "????  orgs  {orgs} orgs, `{first}` among them, were not checked: a node of the \
                 control database does not respond"
            ));
        }
        lines.extend(self.away.iter().map(|part| {
            let (name, deeds) = (&part.name, part.deeds);
            format!("note  past  {deeds} deeds of `{name}` are detached and were not checked")
        }));
        lines.push("\nthe service".to_owned());
        lines.push(match &self.start {
            Some((state, sentence)) => format!("{}  start  {sentence}", word(*state)),
            None => "ok    settings, seal keys and checkpoints".to_owned(),
        });
        lines.extend(self.mail.iter().map(line_of));
        lines.extend(lines_of(&self.systems));
        lines
    }

    /// The same as one JSON object.
    pub(super) fn json(&self) -> Value {
        let record = self.record.iter().map(|finding| {
            json!({
                "name": finding.invariant.name,
                "sentence": finding.invariant.sentence,
                "violations": finding.violations,
                "first": finding.first,
            })
        });
        let start = self.start.as_ref().map(|(state, sentence)| {
            json!({ "state": word(*state).trim().to_ascii_lowercase(), "sentence": sentence })
        });
        json!({
            "record": record.collect::<Vec<_>>(),
            "unreached": self.unreached,
            "away": self.away.iter().map(away).collect::<Vec<_>>(),
            "start": start,
            "mail": self.mail.as_ref().map(line_json),
            "systems": systems_json(&self.systems),
        })
    }
}

/// What a look at these systems ends with.
pub(super) fn exit_of(systems: &[System]) -> Exit {
    let mut lines = systems.iter().flat_map(|system| &system.lines);
    if lines.any(|line| line.state == CheckState::Fail) { Exit::FoundBad } else { Exit::Ok }
}

/// The lines of these systems for a person.
pub(super) fn lines_of(systems: &[System]) -> Vec<String> {
    let mut lines = Vec::new();
    for System { org, id, name, lines: found } in systems {
        lines.push(format!("\n{name} {id}, of org {org}"));
        lines.extend(found.iter().map(line_of));
    }
    lines
}

/// The same as JSON.
pub(super) fn systems_json(systems: &[System]) -> Vec<Value> {
    let systems = systems.iter().map(|System { org, id, name, lines }| {
        let lines: Vec<_> = lines.iter().map(line_json).collect();
        json!({ "org": org, "connector": id, "name": name, "lines": lines })
    });
    systems.collect()
}

fn line_of(CheckLine { name, state, detail }: &CheckLine) -> String {
    format!("{}  {name}  {detail}", word(*state)).trim_end().to_owned()
}

fn line_json(CheckLine { name, state, detail }: &CheckLine) -> Value {
    let state = word(*state).trim().to_ascii_lowercase();
    json!({ "name": name, "state": state, "detail": detail })
}

fn away(part: &Part) -> Value {
    json!({ "part": part.name, "deeds": part.deeds })
}

fn word(state: CheckState) -> &'static str {
    match state {
        CheckState::Pass => "ok  ",
        CheckState::Advice => "note",
        CheckState::Fail => "FAIL",
    }
}
