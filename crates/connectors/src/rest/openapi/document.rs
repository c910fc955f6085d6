//! A description as a document: read within bounds, its references followed inside it alone, its
//! operations found.

use std::cell::Cell;

use crypto::json;
use serde_json::Value;
use serde_saphyr::{Options, options::DuplicateKeyPolicy, options::MergeKeyPolicy};

use super::{LeftOut, MOST_OPERATIONS, Operation, excerpt, names::tool_name};
use crate::{Finding, rest::percent};

/// The deepest nesting of a description.
const MAX_DEPTH: usize = 100;
/// The most values of a description written as YAML.
const MAX_NODES: usize = 2_000_000;
/// The longest `operationId`, in bytes; an operation with a longer one is known by method and path.
const MAX_ID: usize = 1_000;
/// The longest path, in bytes, as in a tool list.
const MAX_PATH: usize = 1_024;
/// The longest tag by which operations are chosen, in bytes, and how many of an operation are read.
const MAX_TAG: usize = 200;
const MOST_TAGS: usize = 20;
/// The longest chain of references to one thing.
const LONGEST_CHAIN: usize = 16;

/// The methods of a path in the order of a list, and whether tools have them.
const METHODS: [(&str, bool); 8] = [
    ("get", true),
    ("head", true),
    ("post", true),
    ("put", true),
    ("patch", true),
    ("delete", true),
    ("options", false),
    ("trace", false),
];

/// Which JSON Schema a description speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// That of 3.0, a relative of an early draft.
    Early,
    /// That of 3.1, which is 2020-12.
    Current,
}

/// A description that was read.
#[derive(Debug, Clone)]
pub(crate) struct Description {
    root: Value,
    pub(super) dialect: Dialect,
    /// Every operation, in the order of paths.
    places: Vec<Place>,
    /// The paths that cannot be read.
    unread: Vec<LeftOut>,
    /// How many more parts of schemas may be carried over.
    left: Cell<usize>,
}

/// Where an operation is in the document, and how people choose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(super) method: &'static str,
    pub(super) path: String,
    /// The `operationId`.
    pub(super) id: Option<String>,
    tags: Vec<String>,
    pub(super) is_served: bool,
}

impl Place {
    /// Method and path, as people write them.
    pub(crate) fn key(&self) -> String {
        format!("{} {}", self.method.to_uppercase(), self.path)
    }

    /// Whether this is its method and path.
    fn is_at(&self, wanted: &str) -> bool {
        let is = |(method, path): (&str, &str)| {
            let is_method = method.eq_ignore_ascii_case(self.method);
            path == self.path && is_method && !method.contains(char::is_lowercase)
        };
        wanted.split_once(' ').is_some_and(is)
    }

    /// The `operationId`, with method and path.
    pub(super) fn called(&self) -> String {
        self.id.as_ref().map_or_else(|| self.key(), |id| format!("{id} ({})", self.key()))
    }

    /// The name of the tool that calls it.
    pub(super) fn tool_name(&self) -> String {
        match &self.id {
            Some(id) => tool_name(id),
            None => tool_name(&format!("{} {}", self.method, self.path)),
        }
    }
}

impl Description {
    /// The description that the value is, or that its text says.
    pub(crate) fn read(value: &Value) -> Result<Self, Finding> {
        match value {
            Value::String(text) => Self::parse(text),
            other => Self::of(other.clone()),
        }
    }

    /// The description that the text says, in JSON or YAML.
    pub(crate) fn parse(text: &str) -> Result<Self, Finding> {
        Self::of(parse(text).map_err(|message| Finding::new("/openapi", message))?)
    }

    fn of(root: Value) -> Result<Self, Finding> {
        let bad = |message: String| Finding::new("/openapi", message);
        if is_deeper(&root, MAX_DEPTH) {
            return Err(bad(format!("expected at most {MAX_DEPTH} levels")));
        }
        let version = root.get("openapi").and_then(Value::as_str).unwrap_or_default();
        let dialect = match version {
            "3.0" => Dialect::Early,
            "3.1" => Dialect::Current,
            version if version.starts_with("3.0.") => Dialect::Early,
            version if version.starts_with("3.1.") => Dialect::Current,
            _ => {
                let message =
                    "expected an OpenAPI description whose member `openapi` is `3.0` or `3.1`";
                return Err(bad(message.to_owned()));
            }
        };
        let (places, unread) = (Vec::new(), Vec::new());
        let mut read = Self { root, dialect, places, unread, left: Cell::new(usize::MAX) };
        (read.places, read.unread) = read.find()?;
        Ok(read)
    }

    /// The same, of whose schemas no more than so many parts are carried over, whatever becomes of the
    /// operations: however often they refer to the same things, reading them comes to an end.
    pub(crate) fn within(self, parts: usize) -> Self {
        self.left.set(parts);
        self
    }

    /// Counts parts that are carried over; says whether they still may be.
    pub(super) fn spend(&self, parts: usize) -> bool {
        let left = self.left.get().checked_sub(parts);
        self.left.set(left.unwrap_or_default());
        left.is_some()
    }

    /// Whether no more may be carried over.
    pub(crate) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    /// Whether a path or an operation is at another address than the API.
    pub(super) fn is_elsewhere(&self, holder: &Value) -> bool {
        fn first(holder: &Value) -> Option<(&str, Option<&Value>)> {
            let server = holder.pointer("/servers/0")?;
            let url = server.get("url")?.as_str()?;
            let url = url.strip_prefix("https:").unwrap_or(url).trim_end_matches('/');
            Some((url, server.get("variables")))
        }
        first(holder).is_some_and(|own| own != first(&self.root).unwrap_or_default())
    }

    /// The address that the description gives its API, where it gives one that is whole.
    pub(crate) fn server(&self) -> Option<&str> {
        let url = self.root.pointer("/servers/0/url")?.as_str()?;
        (url.starts_with("https://") && !url.contains('{')).then_some(url)
    }

    /// Finds every operation, and the paths that cannot be read.
    fn find(&self) -> Result<(Vec<Place>, Vec<LeftOut>), Finding> {
        let paths = self.root.get("paths").and_then(Value::as_object);
        let paths =
            paths.ok_or_else(|| Finding::new("/openapi", "the member `paths` is missing"))?;
        let (mut places, mut unread) = (Vec::new(), Vec::new());
        for (path, item) in paths.iter().filter(|(path, _)| path.starts_with('/')) {
            if path.len() > MAX_PATH {
                let reason = format!("a path of more than {MAX_PATH} bytes");
                unread.push(LeftOut { operation: excerpt(path), reason });
                continue;
            }
            let item = match self.resolve(item) {
                Ok(item) => item,
                Err(reason) => {
                    unread.push(LeftOut { operation: path.clone(), reason });
                    continue;
                }
            };
            for (method, is_served) in METHODS {
                let Some(operation) = item.get(method) else { continue };
                // One item may be at many paths, so that each copy of it counts.
                if places.len() >= MOST_OPERATIONS {
                    let message = format!("expected at most {MOST_OPERATIONS} operations");
                    return Err(Finding::new("/openapi/paths", message));
                }
                let path = path.clone();
                let (id, tags) = (id(operation), tags(operation));
                places.push(Place { method, path, id, tags, is_served });
            }
        }
        Ok((places, unread))
    }

    /// Every operation, in the order of paths.
    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    /// The paths that cannot be read.
    pub(super) fn unread(&self) -> &[LeftOut] {
        &self.unread
    }

    /// The operation with this `operationId`, or with this method and path; else why there is none.
    pub(crate) fn place(&self, wanted: &str) -> Result<&Place, String> {
        let by_key = self.places.iter().find(|place| place.is_at(wanted));
        let mut by_id = self.places.iter().filter(|place| place.id.as_deref() == Some(wanted));
        match (by_key, by_id.next(), by_id.next()) {
            (Some(place), _, _) | (None, Some(place), None) => Ok(place),
            (None, Some(one), Some(other)) => Err(format!(
                "`{}` and `{}` have this `operationId`: expected a method and a path",
                one.key(),
                other.key()
            )),
            (None, None, _) => Err("the description has no such operation: expected an \
                                    `operationId`, or a method and a path such as `GET /pets`"
                .to_owned()),
        }
    }

    /// The operation with this `operationId`, or with this method and path, or why it cannot be served.
    pub(crate) fn operation(&self, wanted: &str) -> Result<Operation, String> {
        self.at(self.place(wanted)?)
    }

    /// The operations that have this tag.
    pub(super) fn tagged(&self, tag: &str) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(move |place| place.tags.iter().any(|it| it == tag))
    }

    /// The operation at this place, or why it cannot be served.
    pub(super) fn at(&self, place: &Place) -> Result<Operation, String> {
        if !place.is_served {
            return Err(format!("tools do not have the method {}", place.method.to_uppercase()));
        }
        let item = self.item(&place.path).ok_or("it cannot be found")?;
        let operation = item.get(place.method).ok_or("it cannot be found")?;
        super::operation::read(self, place, (item, operation))
    }

    fn item(&self, path: &str) -> Option<&Value> {
        self.resolve(self.root.get("paths")?.get(path)?).ok()
    }

    /// What a value is, its references followed.
    pub(super) fn resolve<'a>(&'a self, value: &'a Value) -> Result<&'a Value, String> {
        let mut value = value;
        for _ in 0..LONGEST_CHAIN {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
                return Ok(value);
            };
            value = self.target(reference)?;
        }
        Err("a reference leads through too many others".to_owned())
    }

    /// What stands where a reference points.
    pub(super) fn target(&self, reference: &str) -> Result<&Value, String> {
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err("a reference leads out of the description".to_owned());
        };
        let found = self.root.pointer(&percent::decoded(pointer));
        found.ok_or_else(|| "a reference leads to nothing".to_owned())
    }
}

fn id(operation: &Value) -> Option<String> {
    let id = operation.get("operationId")?.as_str()?;
    (!id.is_empty() && id.len() <= MAX_ID).then(|| id.to_owned())
}

fn tags(operation: &Value) -> Vec<String> {
    let tags = operation.get("tags").and_then(Value::as_array).into_iter().flatten();
    let tags = tags.filter_map(Value::as_str).filter(|tag| tag.len() <= MAX_TAG);
    tags.take(MOST_TAGS).map(str::to_owned).collect()
}

fn parse(text: &str) -> Result<Value, String> {
    if text.trim_start().starts_with('{') {
        return json::parse_document(text.as_bytes()).map_err(|error| error.to_string());
    }
    let read = serde_saphyr::from_str_with_options(text, strict());
    read.map_err(|error| error.without_snippet().to_string())
}

fn strict() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_anchors: 0,
            max_aliases: 0,
            max_merge_keys: 0,
            max_documents: 1,
            max_depth: MAX_DEPTH,
            max_nodes: MAX_NODES,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        with_snippet: false,
    }
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return true };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, below)),
        Value::Object(members) => members.values().any(|member| is_deeper(member, below)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
