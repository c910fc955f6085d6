//! The parameters of an operation as arguments.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    body::served,
    document::Description,
    excerpt,
    flat::Flat,
    kinds::Kinds,
    operation::Gathering,
    schema::{Detail, Schemas},
};
use crate::rest::{
    config::{free_header, is_override},
    entry::{MediaType, Parameter, Place},
    style::{Format, Kind, Style},
};

/// The most parameters of one operation.
const MOST_PARAMETERS: usize = 500;
/// The longest name of a parameter, in bytes, as in a tool list.
const MAX_NAME: usize = 200;
/// The headers of which a description may say nothing (OpenAPI 3.1.1, 4.8.12, `name`).
const IGNORED: [&str; 3] = ["accept", "content-type", "authorization"];
/// The places of parameters, those whose names are fixed first.
const PLACES: [&str; 3] = ["path", "query", "header"];

/// Why a parameter is left out that some servers take for the method or the path of a request.
pub(super) const OVERRIDE: &str = "it changes which operation is called";

/// A parameter with its place and name.
type Listed<'a> = ((String, String), &'a Value);

/// Gathers the parameters of the operation and of its path.
pub(super) fn gather(
    gathering: &mut Gathering<'_>,
    item: &Value,
    operation: &Value,
) -> Result<(), String> {
    let description = gathering.description;
    let mut listed = listed(description, item, operation)?;
    listed.retain(|((place, name), _)| {
        place != "header" || !IGNORED.iter().any(|ignored| name.eq_ignore_ascii_case(ignored))
    });
    let arguments = arguments(&listed)?;
    let rank = |((place, _), _): &Listed<'_>| PLACES.iter().position(|known| known == place);
    // What is in none of the places comes first.
    listed.sort_by_key(rank);
    for (key, parameter) in &listed {
        let argument = arguments.get(key).cloned().unwrap_or_default();
        let is_path = key.0 == "path";
        let is_required = parameter.get("required") == Some(&Value::Bool(true)) || is_path;
        match placed(gathering, key, (argument.clone(), parameter)) {
            Ok(schema) => gathering.add(argument, schema, is_required),
            Err(reason) if is_required => {
                return Err(format!("its parameter `{}`: {reason}", key.1));
            }
            Err(reason) => gathering.leave_out(&format!("parameter `{}`", key.1), reason),
        }
    }
    Ok(())
}

/// The parameters by place and name; those of the operation in place of those of the path.
fn listed<'a>(
    description: &'a Description,
    item: &'a Value,
    operation: &'a Value,
) -> Result<Vec<Listed<'a>>, String> {
    let mut listed: Vec<Listed<'a>> = Vec::new();
    let too_many = || format!("it has more than {MOST_PARAMETERS} parameters");
    for holder in [item, operation] {
        let parameters = holder.get("parameters").and_then(Value::as_array);
        if parameters.is_some_and(|parameters| parameters.len() > MOST_PARAMETERS) {
            return Err(too_many());
        }
        for parameter in parameters.into_iter().flatten() {
            let parameter = description.resolve(parameter)?;
            let text = |key: &str| parameter.get(key).and_then(Value::as_str);
            let (Some(place), Some(name)) = (text("in"), text("name")) else {
                return Err("a parameter has no `in` or no `name`".to_owned());
            };
            if name.is_empty() || name.len() > MAX_NAME {
                return Err(format!(
                    "a parameter has no name, or one of more than {MAX_NAME} bytes"
                ));
            }
            // Names of headers are the same in capitals and in small letters.
            listed.retain(|((other_place, other), _)| {
                let is_same =
                    other == name || (place == "header" && other.eq_ignore_ascii_case(name));
                other_place != place || !is_same
            });
            if listed.len() >= MOST_PARAMETERS {
                return Err(too_many());
            }
            listed.push(((place.to_owned(), name.to_owned()), parameter));
        }
    }
    Ok(listed)
}

/// The argument of each parameter: its name, or its place and its name where a place before has that
/// name too. Which argument a parameter gets does not depend on the order of a description.
fn arguments(listed: &[Listed<'_>]) -> Result<BTreeMap<(String, String), String>, String> {
    let placed = listed.iter().filter(|((place, _), _)| PLACES.contains(&place.as_str()));
    let names: BTreeSet<&str> = placed.map(|((_, name), _)| name.as_str()).collect();
    let mut taken = BTreeSet::new();
    let mut arguments = BTreeMap::new();
    for kind in PLACES {
        for ((place, name), _) in listed.iter().filter(|((place, _), _)| place == kind) {
            let argument =
                if taken.insert(name.clone()) { name.clone() } else { format!("{place}_{name}") };
            if argument.len() > MAX_NAME {
                return Err(format!("the argument `{argument}` has more than {MAX_NAME} bytes"));
            }
            let is_other = argument != *name && names.contains(argument.as_str());
            if is_other || (argument != *name && !taken.insert(argument.clone())) {
                return Err(format!(
                    "its parameters `{name}` and `{argument}` need one argument name"
                ));
            }
            arguments.insert((place.clone(), name.clone()), argument);
        }
    }
    Ok(arguments)
}

/// The schema of a parameter's argument; notes where the argument goes.
fn placed(
    gathering: &mut Gathering<'_>,
    (place, name): &(String, String),
    (argument, parameter): (String, &Value),
) -> Result<Value, String> {
    let place = match place.as_str() {
        "path" => None,
        "query" if is_override(Place::Query, name) => return Err(OVERRIDE.to_owned()),
        "query" => Some(Place::Query),
        "header" if free_header(name).is_none() => {
            return Err("a header that the connector sets".to_owned());
        }
        "header" if is_override(Place::Header, name) => return Err(OVERRIDE.to_owned()),
        "header" => Some(Place::Header),
        "cookie" => return Err("a cookie".to_owned()),
        place => return Err(format!("the place `{}`", excerpt(place))),
    };
    let (schema, format, nested) = written(gathering.description, place, parameter)?;
    if parameter.get("required") != Some(&Value::Bool(true)) && place.is_some() {
        // What it refers to is read at the end, when it is too late to leave only the parameter out.
        let mut alone = Schemas::of(gathering.description, Detail::Bare);
        alone.convert(schema)?;
        alone.definitions()?;
    }
    let text = parameter.get("description").and_then(Value::as_str);
    let mut converted = gathering.schemas.convert_described(schema, text)?;
    gathering.narrow(&mut converted, &format!("parameter `{name}`"), (&nested, format))?;
    let name = name.clone();
    let parameter = place.map(|place| Parameter { place, name, arg: argument, format });
    gathering.parameters.extend(parameter);
    Ok(converted)
}

/// The schema of a parameter, how its values are written, and which of their members cannot be.
fn written<'a>(
    description: &Description,
    place: Option<Place>,
    parameter: &'a Value,
) -> Result<(&'a Value, Format, BTreeSet<String>), String> {
    if let Some(content) = parameter.get("content") {
        let json = content.as_object().and_then(served);
        let json = json.filter(|(media_type, _)| *media_type == MediaType::Json);
        let schema = json.and_then(|(_, media)| media.get("schema"));
        let schema = schema.ok_or("it is written as something other than JSON")?;
        if place.is_none() {
            return Err("JSON in a path".to_owned());
        }
        return Ok((schema, Format { style: Style::Json, explode: None }, BTreeSet::new()));
    }
    let schema = parameter.get("schema").ok_or("nothing is said of its values")?;
    if place == Some(Place::Query) && parameter.get("allowReserved") == Some(&Value::Bool(true)) {
        // A `&` that is not encoded would begin a parameter that nobody checked.
        return Err("`allowReserved`, with which its value could add other parameters".to_owned());
    }
    description.resolve(schema)?;
    let usual = if place == Some(Place::Query) { "form" } else { "simple" };
    let style = parameter.get("style").and_then(Value::as_str).unwrap_or(usual);
    let Some(place) = place else {
        return match style {
            "simple" if Kinds::spent(description, schema)?.has(Kind::Scalar) => {
                Ok((schema, Format::default(), BTreeSet::new()))
            }
            "simple" => Err("a list or an object in a path".to_owned()),
            _ => Err(format!("the style `{}` in a path", excerpt(style))),
        };
    };
    let format = format(style, parameter.get("explode").and_then(Value::as_bool))?;
    let nested = fits(format, place, (description, schema))?;
    Ok((schema, format.canonical(place), nested))
}

/// The format of this style of OpenAPI.
pub(super) fn format(style: &str, explode: Option<bool>) -> Result<Format, String> {
    let style = match style {
        "form" => Style::Form,
        "simple" => Style::Simple,
        "spaceDelimited" => Style::SpaceDelimited,
        "pipeDelimited" => Style::PipeDelimited,
        "deepObject" => Style::DeepObject,
        _ => return Err(format!("the style `{}`", excerpt(style))),
    };
    Ok(Format { style, explode })
}

/// Whether the format is defined in this place for at least one of the values that the schema accepts;
/// the members that no value has then.
pub(super) fn fits(
    format: Format,
    place: Place,
    (description, schema): (&Description, &Value),
) -> Result<BTreeSet<String>, String> {
    if let Some(problem) = format.problem(place) {
        return Err(problem);
    }
    if format.style == Style::Json {
        return Ok(BTreeSet::new());
    }
    let kinds = Kinds::spent(description, schema)?;
    if kinds.any(|kind| format.writes(kind)) {
        let flat = Flat::of(description, schema)?;
        if !kinds.any(|kind| format.writes(kind) && flat.has(kind)) {
            return Err(within(format));
        }
        return Ok(if format.writes(Kind::Object) { flat.nested } else { BTreeSet::new() });
    }
    if !kinds.any(|_| true) {
        return Err("its schema has no value that can be sent".to_owned());
    }
    let kinds: Vec<_> =
        Kind::ALL.into_iter().filter(|kind| kinds.has(*kind)).map(Kind::name).collect();
    let explode = if format.explode == Some(true) || format.style == Style::Form {
        " with `explode: true`"
    } else {
        ""
    };
    Err(format!("{} in the style `{}`{explode}", kinds.join(" or "), format.style.name()))
}

/// Why an item or a member cannot be written.
pub(super) fn within(format: Format) -> String {
    format!("a list or an object within another in the style `{}`", format.style.name())
}
