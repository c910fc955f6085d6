//! The tools of connectors: looked at anew, accepted one by one, and made stricter than their
//! definitions.
//!
//! A tool is accepted with its digest. One that is new, or that is found to be another, is kept as it
//! was found beside what was accepted, and its calls are refused until somebody accepts it.

use act::{ActError, Changed, Fact, Record};
use deed::Subject;
use ledger::{
    Needs, Snapshot,
    record::{Connector, ToolSettings},
};
use model::{ConnectorId, Digest, EventType, Level, SideEffect, ToolName};
use serde_json::{Value, json};

use super::{KnownTools, loaded};
use crate::{ConnectorError, OrgChange, Wish};

/// What is to be said of a tool beyond its definition.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolEdit {
    /// What it does to the world, where that is more than its definition says.
    pub side_effect: Wish<SideEffect>,
    /// The evidence that its calls need, where that is more than its definition asks for.
    pub required_level: Wish<Level>,
    /// Whether agents are not shown it.
    pub hidden: Option<bool>,
}

impl OrgChange<'_> {
    /// Asks the governed system what it gives the tools now, and keeps that beside what was accepted.
    /// It accepts nothing and changes nothing of what runs, so there is no deed of it.
    pub async fn refresh_tools(&self, id: ConnectorId) -> Result<Connector, ConnectorError> {
        let before = self.stored(id).await?;
        let opened = self.admin.opened(&before, &before.config)?;
        let found = self.check(opened.candidate()).await?;
        let checked = before.revision;
        let noted = self.turn(Needs::default(), None, move |at, record| {
            let before = loaded(at, id)?;
            if before.revision != checked {
                return Err(ActError::Conflict(
                    "the connector was changed in the meantime; try again",
                ));
            }
            let mut after = before.clone();
            note(&mut after, &found, false);
            if after != *before {
                record.write(after.clone());
            }
            Ok::<_, ActError>(after)
        });
        Ok(noted.await?)
    }

    /// Accepts a tool as it was found: calls are refused until then.
    pub async fn pin_tool(
        &self,
        id: ConnectorId,
        (tool, digest): (ToolName, Digest),
    ) -> Result<Changed<Connector>, ConnectorError> {
        let pinned = self.turn(Needs::default(), None, move |at, record| {
            let before = loaded(at, id)?;
            let found = before.found.as_ref().and_then(|found| found.get(&tool));
            let accepted = before.tools.get(&tool);
            let Some(known) = found.or(accepted) else { return Err(ActError::NotFound("tool")) };
            if digest_of(known) != Some(digest) {
                return Err(ActError::bad_input(
                    "digest",
                    "the digest with which the tool was last found",
                ));
            }
            if accepted.and_then(digest_of) == Some(digest) {
                return Err(ActError::Conflict("the tool is already pinned with this digest"));
            }
            let mut after = before.clone();
            after.tools.insert(tool.clone(), known.clone());
            after.told.remove(&tool);
            after.found = after.found.filter(|found| differs(found, &after.tools));
            after.revision = after.revision.saturating_add(1);
            let (before, now) = (json!(accepted.and_then(digest_of)), json!(digest));
            let told = Told { event: EventType::ToolPinned, tool: &tool, before, now };
            Ok::<_, ActError>(tool_changed(record, told, after))
        });
        Ok(pinned.await?)
    }

    /// Changes what is said of a tool beyond its definition, which can be made stricter only.
    pub async fn update_tool(
        &self,
        id: ConnectorId,
        (tool, edit): (ToolName, ToolEdit),
    ) -> Result<Changed<Connector>, ConnectorError> {
        let updated = self.turn(Needs::default(), None, move |at: &Snapshot, record| {
            let before = loaded(at, id)?;
            let defined = definition(before, &tool).ok_or(ActError::NotFound("tool"))?;
            let settings = edited(before.settings.get(&tool).copied(), edit);
            stricter(settings, defined)?;
            let mut after = before.clone();
            after.settings.remove(&tool);
            if settings != ToolSettings::default() {
                after.settings.insert(tool.clone(), settings);
            }
            after.revision = after.revision.saturating_add(1);
            let told = Told {
                event: EventType::ToolUpdated,
                tool: &tool,
                before: json!(before.settings.get(&tool)),
                now: json!(settings),
            };
            Ok::<_, ActError>(tool_changed(record, told, after))
        });
        Ok(updated.await?)
    }

    /// Notes what the tools of a connector are kept with, where it was made before that was noted.
    /// It changes nothing of what the connector does, so there is no deed of it.
    pub async fn learn_tools(
        &self,
        (id, revision): (ConnectorId, u32),
        tools: KnownTools,
    ) -> Result<(), ConnectorError> {
        let noted = self.turn(Needs::default(), None, move |at, record| {
            let before = loaded(at, id)?;
            if before.tools.is_empty() && before.revision == revision {
                record.write(Connector { tools: tools.clone(), ..before.clone() });
            }
            Ok::<_, ActError>(())
        });
        Ok(noted.await?)
    }
}

/// Keeps what was found of a connector's tools: accepted where that is wanted or where nothing was
/// yet, else beside what was accepted. Nothing found says nothing.
pub(super) fn note(connector: &mut Connector, found: &KnownTools, pin: bool) {
    if pin || connector.tools.is_empty() {
        accept_all(connector, found);
    } else if !found.is_empty() {
        let found = differs(found, &connector.tools).then(|| found.clone());
        connector.found = found;
    }
}

/// Accepts every tool as it was found.
pub(super) fn accept_all(connector: &mut Connector, found: &KnownTools) {
    connector.tools.clone_from(found);
    connector.found = None;
}

fn differs(found: &KnownTools, accepted: &KnownTools) -> bool {
    let digests = |tools: &KnownTools| -> Vec<_> {
        tools.iter().map(|(name, known)| (name.clone(), digest_of(known))).collect()
    };
    digests(found) != digests(accepted)
}

/// The digest of a tool's definition among what it is kept with.
pub(super) fn digest_of(known: &Value) -> Option<Digest> {
    known.get("digest")?.as_str()?.parse().ok()
}

/// What a tool's definition, as it was found last, says that it does and asks for.
pub(super) fn definition(connector: &Connector, tool: &ToolName) -> Option<ToolSettings> {
    let found = connector.found.as_ref().and_then(|found| found.get(tool));
    let known = found.or_else(|| connector.tools.get(tool))?;
    let word = |name: &str| known.get("entry").and_then(|entry| entry.get(name)?.as_str());
    Some(ToolSettings {
        side_effect: word("side_effect").and_then(|word| word.parse().ok()),
        required_level: word("required_level").and_then(|word| word.parse().ok()),
        hidden: false,
    })
}

fn edited(before: Option<ToolSettings>, edit: ToolEdit) -> ToolSettings {
    let before = before.unwrap_or_default();
    ToolSettings {
        side_effect: edit.side_effect.over(before.side_effect),
        required_level: edit.required_level.over(before.required_level),
        hidden: edit.hidden.unwrap_or(before.hidden),
    }
}

/// A tool that was declared to change things is never decided as one that reads.
fn stricter(settings: ToolSettings, defined: ToolSettings) -> Result<(), ActError> {
    if settings.side_effect.is_some() && settings.side_effect < defined.side_effect {
        let least = defined.side_effect.map_or("read", SideEffect::as_str);
        let expected =
            format!("`{least}` or higher, because the tool's definition states `{least}`");
        return Err(ActError::bad_input("side_effect", expected));
    }
    if settings.required_level.is_some() && settings.required_level < defined.required_level {
        let least = defined.required_level.map_or("L0", Level::as_str);
        let expected =
            format!("`{least}` or higher, because the tool's definition requires `{least}`");
        return Err(ActError::bad_input("required_level", expected));
    }
    Ok(())
}

/// A change of one tool, as its deed tells it.
struct Told<'a> {
    event: EventType,
    tool: &'a ToolName,
    before: Value,
    now: Value,
}

fn tool_changed(record: &mut Record<'_>, told: Told<'_>, after: Connector) -> Changed<Connector> {
    let said = |it: Value| (!it.is_null()).then(|| json!({ "tool": told.tool, "value": it }));
    let deed = record.seal(Fact {
        event: told.event,
        subject: Subject::connector(after.id),
        before: said(told.before),
        after: said(told.now),
        data: vec![("tool", json!(told.tool)), ("revision", json!(after.revision))],
        object: json!({
            "object": "connector_tool",
            "connector": after.id,
            "name": told.tool,
        }),
    });
    record.write(after.clone());
    Changed { object: after, deed }
}
