//! The `types` filter of streams: event types and family wildcards.

use model::EventType;

const MAX_LEN: usize = 1200;

/// A filter over event types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Types {
    // Invariant: empty means every type.
    wanted: Vec<EventType>,
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
        Self { wanted: Vec::new() }
    }

    /// Reads a comma list of event types and family wildcards.
    pub fn parse(text: &str) -> Result<Self, EventTypesError> {
        if text.len() > MAX_LEN {
            return Err(EventTypesError::TooLong);
        }
        let mut wanted = Vec::new();
        for item in text.split(',') {
            let before = wanted.len();
            wanted.extend(EventType::ALL.iter().filter(|kind| covers(item, kind.as_str())));
            if wanted.len() == before {
                return Err(EventTypesError::Unknown(item.chars().take(64).collect()));
            }
        }
        Ok(Self { wanted })
    }

    /// Whether the filter lets this type through.
    pub fn cover(&self, kind: EventType) -> bool {
        self.wanted.is_empty() || self.wanted.contains(&kind)
    }
}

fn covers(item: &str, kind: &str) -> bool {
    match item.strip_suffix(".*") {
        Some(family) => kind.split_once('.').is_some_and(|(head, _)| head == family),
        None => item == kind,
    }
}
