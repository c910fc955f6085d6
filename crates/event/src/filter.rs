//! The `types` filter of streams: event types and family wildcards.

use model::{COMING_EVENT_TYPES, EventType};

const MAX_LEN: usize = 1200;

/// A filter over event types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Types {
    // Every type where there is no list; an empty list waits for what cannot happen yet.
    wanted: Option<Vec<EventType>>,
}

/// A text that is no filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventTypesError {
    /// The text is too long.
    #[error("expected at most {MAX_LEN} characters")]
    TooLong,
    /// One item names no type.
    #[error("`{0}` is neither an event type nor a family wildcard such as `action.*`")]
    Unknown(String),
}

impl Types {
    /// The filter that lets everything through.
    pub fn every() -> Self {
        Self { wanted: None }
    }

    /// Reads a comma list of event types and family wildcards.
    pub fn parse(text: &str) -> Result<Self, EventTypesError> {
        if text.len() > MAX_LEN {
            return Err(EventTypesError::TooLong);
        }
        let mut wanted = Vec::new();
        for item in text.split(',') {
            let mut known = EventType::WORDS.iter().chain(COMING_EVENT_TYPES);
            if !known.any(|kind| covers(item, kind)) {
                return Err(EventTypesError::Unknown(item.chars().take(64).collect()));
            }
            wanted.extend(EventType::ALL.iter().filter(|kind| covers(item, kind.as_str())));
        }
        Ok(Self { wanted: Some(wanted) })
    }

    /// Whether the filter lets this type through.
    pub fn cover(&self, kind: EventType) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&kind))
    }
}

fn covers(item: &str, kind: &str) -> bool {
    match item.strip_suffix(".*") {
        Some(family) => kind.split_once('.').is_some_and(|(head, _)| head == family),
        None => item == kind,
    }
}
