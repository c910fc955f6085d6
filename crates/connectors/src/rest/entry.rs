//! One tool as it is declared, and with everything said that was left to be understood: what its
//! digest covers and what people are shown.

use std::collections::{BTreeMap, BTreeSet};

use model::{Level, SideEffect};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::style::Format;

/// Statuses that say that a call was applied, unless the tool says which.
const SUCCESS: [u16; 7] = [200, 201, 202, 203, 204, 205, 206];
/// Statuses that say that a write was not applied, unless the tool says which.
const NOT_APPLIED: [u16; 8] = [400, 401, 403, 404, 405, 415, 422, 429];

/// The methods that tools have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    pub(super) fn http(self) -> http::Method {
        match self {
            Self::Get => http::Method::GET,
            Self::Head => http::Method::HEAD,
            Self::Post => http::Method::POST,
            Self::Put => http::Method::PUT,
            Self::Patch => http::Method::PATCH,
            Self::Delete => http::Method::DELETE,
        }
    }

    /// Whether arguments without a declared place are its JSON body.
    fn has_body(self) -> bool {
        match self {
            Self::Get | Self::Head | Self::Delete => false,
            Self::Post | Self::Put | Self::Patch => true,
        }
    }

    /// Whether its requests can have a body.
    pub(super) fn may_have_body(self) -> bool {
        match self {
            Self::Get | Self::Head => false,
            Self::Delete | Self::Post | Self::Put | Self::Patch => true,
        }
    }

    /// What it does to the world, unless a tool says otherwise.
    pub(super) fn side_effect(self) -> SideEffect {
        match self {
            Self::Get | Self::Head => SideEffect::Read,
            Self::Post | Self::Put | Self::Patch => SideEffect::Write,
            Self::Delete => SideEffect::Destructive,
        }
    }
}

/// Where an argument goes, beside path and body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    Query,
    Header,
}

/// An argument that goes into the query or a header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Parameter {
    #[serde(rename = "in")]
    pub(super) place: Place,
    pub(super) name: String,
    #[serde(default)]
    pub(super) arg: String,
    #[serde(flatten)]
    pub(super) format: Format,
}

/// The arguments that a body is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Content {
    /// An object of these arguments.
    Members(Vec<String>),
    /// One argument as a whole.
    Arg(String),
}

impl Content {
    /// The names of the arguments.
    pub(super) fn arguments(&self) -> &[String] {
        match self {
            Self::Members(names) => names,
            Self::Arg(name) => std::slice::from_ref(name),
        }
    }
}

/// The media types that bodies have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum MediaType {
    #[default]
    #[serde(rename = "application/json")]
    Json,
    #[serde(rename = "application/merge-patch+json")]
    MergePatch,
    #[serde(rename = "application/json-patch+json")]
    JsonPatch,
    #[serde(rename = "application/x-www-form-urlencoded")]
    Form,
}

impl MediaType {
    /// The one that a media type of a description is served as, its parameters aside. A range that JSON
    /// is in is JSON.
    pub(super) fn of(name: &str) -> Option<Self> {
        let name = name.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match name.as_str() {
            "*/*" | "application/*" => Some(Self::Json),
            name => [Self::Json, Self::MergePatch, Self::JsonPatch, Self::Form]
                .into_iter()
                .find(|known| known.name() == name),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::MergePatch => "application/merge-patch+json",
            Self::JsonPatch => "application/json-patch+json",
            Self::Form => "application/x-www-form-urlencoded",
        }
    }
}

/// How the body is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Body {
    #[serde(flatten)]
    pub(super) content: Content,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) media_type: MediaType,
    /// How members of a form are written; a member that is not in it is written by its kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) encoding: BTreeMap<String, Format>,
    /// Whether no body is sent for a call without any of its arguments.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) optional: bool,
}

impl Body {
    /// A JSON body that every call has.
    fn json(content: Content) -> Self {
        let (media_type, encoding) = (MediaType::Json, BTreeMap::new());
        Self { content, media_type, encoding, optional: false }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Where a value comes from when a write is looked at again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Source {
    /// An argument of the write.
    Arg(String),
    /// A place in its result.
    Result(String),
    /// The config.
    Value(Value),
}

/// What must be equal to what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Comparison {
    /// A place in what the read answers.
    pub(super) read: String,
    pub(super) with: Source,
}

/// How a write is looked at again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadBack {
    pub(super) operation: String,
    pub(super) args: BTreeMap<String, Source>,
    pub(super) compare: Vec<Comparison>,
}

/// What is said of a tool beyond the operation that it calls.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Said {
    pub(super) name: Option<String>,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) side_effect: Option<SideEffect>,
    pub(super) idempotency_header: Option<String>,
    pub(super) success: Option<Vec<u16>>,
    pub(super) not_applied: Option<Vec<u16>>,
    pub(super) result: Option<String>,
    pub(super) timeout_ms: Option<u64>,
    pub(super) max_bytes: Option<usize>,
    pub(super) required_level: Option<Level>,
    pub(super) read_back: Option<ReadBack>,
}

/// The operation that a tool calls.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Called {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) args: Value,
    #[serde(default)]
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    /// The `operationId` in the description.
    pub(super) operation: Option<String>,
}

/// What holds for every tool of a connector unless the tool says otherwise.
#[derive(Debug, Clone)]
pub(super) struct Common {
    pub(super) base_url: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) timeout_ms: u64,
    pub(super) max_bytes: usize,
}

/// A tool with everything said.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) side_effect: SideEffect,
    pub(super) base_url: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) headers: BTreeMap<String, String>,
    pub(super) method: Method,
    pub(super) path: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parameters: Vec<Parameter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<Body>,
    /// The `operationId`, where the name of the tool is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) operation: Option<String>,
    pub(super) args: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) idempotency_header: Option<String>,
    pub(super) success: Vec<u16>,
    pub(super) not_applied: Vec<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<String>,
    pub(super) timeout_ms: u64,
    pub(super) max_bytes: usize,
    pub(super) required_level: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) read_back: Option<ReadBack>,
}

impl Entry {
    /// The tool that calls this operation, with what is said of it.
    pub(super) fn of(called: Called, said: Said, common: &Common) -> Self {
        let Called { method, path, args, mut parameters, mut body, operation } = called;
        for parameter in &mut parameters {
            if parameter.arg.is_empty() {
                parameter.arg.clone_from(&parameter.name);
            }
            parameter.format = parameter.format.canonical(parameter.place);
        }
        for format in body.iter_mut().flat_map(|body| body.encoding.values_mut()) {
            *format = format.canonical(Place::Query);
        }
        let name = said.name.unwrap_or_default();
        let success = said.success.unwrap_or_else(|| SUCCESS.to_vec());
        let not_applied = said.not_applied.unwrap_or_else(|| {
            NOT_APPLIED.into_iter().filter(|status| !success.contains(status)).collect()
        });
        let mut entry = Self {
            operation: operation.filter(|operation| *operation != name),
            name,
            title: said.title.unwrap_or_default(),
            description: said.description.unwrap_or_default(),
            side_effect: said.side_effect.unwrap_or_else(|| method.side_effect()),
            base_url: common.base_url.clone(),
            headers: common.headers.clone(),
            method,
            path,
            parameters,
            body,
            args,
            idempotency_header: said.idempotency_header,
            success,
            not_applied,
            result: said.result.filter(|pointer| !pointer.is_empty()),
            timeout_ms: said.timeout_ms.unwrap_or(common.timeout_ms),
            max_bytes: said.max_bytes.unwrap_or(common.max_bytes),
            required_level: said.required_level.unwrap_or(Level::L0),
            read_back: said.read_back,
        };
        entry.place_the_rest();
        entry
    }

    /// Method and path of the operation.
    pub(super) fn key(&self) -> String {
        format!("{} {}", self.method.http(), self.path)
    }

    /// The operation for people: its `operationId` too, where the name of the tool is another one.
    pub(super) fn called(&self) -> String {
        match &self.operation {
            Some(operation) => format!("{operation} ({})", self.key()),
            None => self.key(),
        }
    }

    /// The names of the arguments.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &str> {
        let members = self.args.get("properties").and_then(Value::as_object);
        members.into_iter().flat_map(|members| members.keys().map(String::as_str))
    }

    /// Whether a call must have the argument.
    pub(super) fn requires(&self, argument: &str) -> bool {
        let required = self.args.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|name| name == argument))
    }

    /// The arguments that a call must have.
    pub(super) fn required(&self) -> BTreeSet<&str> {
        let required = self.args.get("required").and_then(Value::as_array);
        required.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Arguments without a declared place go into the body where the method has one, else into the
    /// query.
    fn place_the_rest(&mut self) {
        let placed = |name: &&str| {
            self.path.contains(&format!("{{{name}}}"))
                || self.parameters.iter().any(|parameter| parameter.arg == **name)
        };
        let rest: Vec<String> =
            self.arguments().filter(|name| !placed(name)).map(str::to_owned).collect();
        if self.body.is_some() || rest.is_empty() {
            return;
        }
        if self.method.has_body() {
            self.body = Some(Body::json(Content::Members(rest)));
            return;
        }
        let parameter = |name: String| Parameter {
            place: Place::Query,
            arg: name.clone(),
            name,
            format: Format::default(),
        };
        self.parameters.extend(rest.into_iter().map(parameter));
    }
}
