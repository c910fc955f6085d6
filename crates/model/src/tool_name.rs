//! Tool names, `<connector>.<tool>`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::deserialize_text;

/// A text that is not a tool name or not a connector name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected `<connector>.<tool>`: 2 to 32 characters of `a-z0-9-`, a dot, and 1 to 64 characters of `A-Za-z0-9_./-`"
)]
pub struct ToolNameError;

/// The name of a connector, the part of a tool name before the first dot.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectorName(Box<str>);

/// The name of a tool as an agent calls it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName {
    text: Box<str>,
    // Invariant: the byte offset of the first dot in `text`.
    dot: usize,
}

impl ConnectorName {
    /// The connector whose tools the service itself runs.
    pub const BUILTIN: &'static str = "service";
    /// Names that no org may give to a connector of its own.
    pub const RESERVED: [&'static str; 5] = ["service", "mcp", "native", "fake", "console"];

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the name is kept for the service's own use.
    pub fn is_reserved(&self) -> bool {
        Self::RESERVED.contains(&self.as_str())
    }
}

impl ToolName {
    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The part before the first dot.
    pub fn connector(&self) -> &str {
        self.text.get(..self.dot).unwrap_or_default()
    }

    /// The part after the first dot.
    pub fn tool(&self) -> &str {
        self.text.get(self.dot + 1..).unwrap_or_default()
    }
}

impl FromStr for ConnectorName {
    type Err = ToolNameError;

    fn from_str(text: &str) -> Result<Self, ToolNameError> {
        let fits = (2..=32).contains(&text.len())
            && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        if fits { Ok(Self(text.into())) } else { Err(ToolNameError) }
    }
}

impl FromStr for ToolName {
    type Err = ToolNameError;

    fn from_str(text: &str) -> Result<Self, ToolNameError> {
        let (connector, tool) = text.split_once('.').ok_or(ToolNameError)?;
        let dot = connector.parse::<ConnectorName>()?.as_str().len();
        let fits = (1..=64).contains(&tool.len())
            && tool.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte));
        if fits { Ok(Self { text: text.into(), dot }) } else { Err(ToolNameError) }
    }
}

impl fmt::Display for ConnectorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ConnectorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for ConnectorName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl Serialize for ToolName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for ConnectorName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer)
    }
}

impl<'de> Deserialize<'de> for ToolName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer)
    }
}
