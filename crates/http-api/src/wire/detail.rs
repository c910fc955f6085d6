//! An action with everything that is shown of it, and the summary of its deed.

use deed::{Disclosure, Path};
use event::Event;
use gate::{ActionDetail, StoredDeed};
use model::DeedKind;
use serde::Serialize;
use serde_json::{Value, json};

use super::action::ActionView;

/// An action with its payloads, events and deeds.
#[derive(Debug, Serialize)]
pub(crate) struct DetailView<'a> {
    #[serde(flatten)]
    action: ActionView<'a>,
    request: Value,
    result: Value,
    events: Vec<Value>,
    deeds: Vec<Value>,
}

impl<'a> DetailView<'a> {
    /// The view, or the fault of a stored deed that is not what was sealed.
    pub(crate) fn new(detail: &'a ActionDetail) -> Result<Self, deed::BodyError> {
        let ActionDetail { action, disclosures, events, deeds } = detail;
        let form = |deed: &StoredDeed| {
            deed::api_form(&deed.body, &deed.signature, &opening(deed.kind, disclosures))
        };
        Ok(Self {
            action: ActionView::from(action),
            request: disclosed(disclosures, &Path::REQUEST),
            result: disclosed(disclosures, &Path::RESULT),
            events: events.iter().map(Event::envelope).collect(),
            deeds: deeds.iter().map(form).collect::<Result<_, _>>()?,
        })
    }

    /// The view with the witness's whole detail.
    pub(crate) fn with_witness_detail(mut self, disclosures: &[Disclosure]) -> Self {
        let detail = disclosed(disclosures, &Path::WITNESS_DETAIL);
        let later = disclosed(disclosures, &Path::AMENDED_WITNESS_DETAIL);
        self.action = self.action.with_witness_detail(detail, later);
        self
    }
}

/// What opens the action's deed of this kind: each kind has commitments of its own.
fn opening(kind: DeedKind, disclosures: &[Disclosure]) -> Vec<Disclosure> {
    let own = match kind {
        DeedKind::Action => "action.",
        DeedKind::Amendment => "amendment.",
        // What a person's answer holds is not shown here.
        DeedKind::Admin => return Vec::new(),
    };
    let opens = |open: &&Disclosure| open.path().as_str().starts_with(own);
    disclosures.iter().filter(opens).cloned().collect()
}

/// What was disclosed at this place, null when retention removed it.
fn disclosed(disclosures: &[Disclosure], path: &Path) -> Value {
    let found = disclosures.iter().find(|disclosure| disclosure.path() == path);
    found.and_then(|found| serde_json::from_str(found.value()).ok()).unwrap_or(Value::Null)
}

/// The summary of a deed that the event of its sealing carries when hydrated.
pub(crate) fn deed_summary(sealed: &Event) -> Value {
    let mut summary = sealed.object.clone();
    if let Some(members) = summary.as_object_mut() {
        // A deed and the event of its sealing are of one turn, and so of one moment.
        members.insert("issued_at".to_owned(), json!(sealed.created_at));
        members.insert("action".to_owned(), json!(sealed.action));
    }
    summary
}
