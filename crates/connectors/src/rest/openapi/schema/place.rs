//! Whether a reference leads to a place of the description where a schema is.
//!
//! Any object would pass for a schema that accepts everything, so a reference to the document itself
//! or to a parameter would accept more than its author meant.

use super::words::{OF_DEFINITIONS, OF_NAMES, OF_SCHEMA, OF_SCHEMAS};

/// What a place of a description holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Document,
    Components,
    Paths,
    Path,
    Operation,
    Callbacks,
    Parameters,
    Parameter,
    /// Bodies and responses: what has a content.
    Messages,
    Message,
    Contents,
    Content,
    Encodings,
    Encoding,
    Schemas,
    Schema,
    /// A member whose name begins with `x-`, or what is in one. Its author decides what it holds.
    Extension,
}

use Kind::{
    Callbacks, Components, Content, Contents, Document, Encoding, Encodings, Extension, Message,
    Messages, Operation, Parameter, Parameters, Path, Paths, Schema, Schemas,
};

/// Which member of what holds what.
const MEMBERS: [(Kind, &[&str], Kind); 21] = [
    (Document, &["components"], Components),
    (Document, &["paths", "webhooks"], Paths),
    // Descriptions that were made from one of 2.0 keep their schemas here.
    (Document, &["definitions"], Schemas),
    (Components, &["schemas"], Schemas),
    (Components, &["parameters", "headers"], Parameters),
    (Components, &["requestBodies", "responses"], Messages),
    (Components, &["callbacks"], Callbacks),
    (Components, &["pathItems"], Paths),
    (Path, &["get", "put", "post", "delete", "options", "head", "patch", "trace"], Operation),
    (Path, &["parameters"], Parameters),
    (Operation, &["parameters"], Parameters),
    (Operation, &["requestBody"], Message),
    (Operation, &["responses"], Messages),
    (Operation, &["callbacks"], Callbacks),
    (Parameter, &["schema"], Schema),
    (Parameter, &["content"], Contents),
    (Message, &["content"], Contents),
    (Content, &["schema"], Schema),
    (Content, &["encoding"], Encodings),
    (Message, &["headers"], Parameters),
    (Encoding, &["headers"], Parameters),
];

/// What each member of a list or a map is.
const EACH: [(Kind, Kind); 8] = [
    (Paths, Path),
    (Callbacks, Paths),
    (Parameters, Parameter),
    (Messages, Message),
    (Contents, Content),
    (Encodings, Encoding),
    (Schemas, Schema),
    (Extension, Extension),
];

/// Whether the reference leads to where a schema is.
pub(super) fn is_of_schema(reference: &str) -> bool {
    let pointer = reference.trim_start_matches('#').replace("%2F", "/").replace("%2f", "/");
    let end = pointer.split('/').skip(1).try_fold(Document, step);
    matches!(end, Some(Schema | Extension))
}

fn step(from: Kind, word: &str) -> Option<Kind> {
    let each = EACH.iter().find(|(kind, _)| *kind == from).map(|(_, each)| *each);
    let named = MEMBERS.iter().find(|(kind, words, _)| *kind == from && words.contains(&word));
    match from {
        _ if each.is_some() => each,
        _ if named.is_some() => named.map(|(_, _, to)| *to),
        Schema if OF_SCHEMA.contains(&word) => Some(Schema),
        Schema if OF_SCHEMAS.contains(&word) || OF_NAMES.contains(&word) => Some(Schemas),
        Schema if OF_DEFINITIONS.contains(&word) => Some(Schemas),
        _ => word.starts_with("x-").then_some(Extension),
    }
}
