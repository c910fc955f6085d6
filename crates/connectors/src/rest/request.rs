//! The request that a call comes to: where each argument goes, and how it is written there.
//!
//! What an argument holds never changes which operation is called: in a path it is one segment, in a
//! query one value, in a header one line of visible characters.

use std::fmt::Write as _;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::{Map, Value};

use super::entry::{Body, Entry, Method, Parameter, Place, Style};

/// The longest path and query that is sent.
const LONGEST: usize = 8 * 1024;

/// The operation of one tool, ready to be called.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) method: Method,
    segments: Vec<Segment>,
    parameters: Vec<Parameter>,
    body: Option<Body>,
    headers: HeaderMap,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Text(String),
    Argument(String),
}

/// A request but for its credential and its host.
#[derive(Debug)]
pub(super) struct Rendered {
    pub(super) path_and_query: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// The names of the path's arguments; nothing where its braces do not fit each other.
pub(super) fn path_arguments(path: &str) -> Option<Vec<String>> {
    let arguments = segments(path)?.into_iter().filter_map(|segment| match segment {
        Segment::Argument(name) => Some(name),
        Segment::Text(_) => None,
    });
    Some(arguments.collect())
}

fn segments(path: &str) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    let mut rest = path;
    while let Some((text, from)) = rest.split_once('{') {
        let (name, after) = from.split_once('}')?;
        if text.contains('}') || name.is_empty() || name.contains(['{', '/']) {
            return None;
        }
        segments.push(Segment::Text(text.to_owned()));
        segments.push(Segment::Argument(name.to_owned()));
        rest = after;
    }
    segments.push(Segment::Text(rest.to_owned()));
    (!rest.contains('}')).then_some(segments)
}

impl Operation {
    /// The operation of a tool that was checked; the path begins below `base`, the base's own path.
    pub(super) fn of(entry: &Entry, base: &str, headers: HeaderMap) -> Option<Self> {
        let path = format!("{}{}", base.trim_end_matches('/'), entry.path);
        Some(Self {
            method: entry.method,
            segments: segments(&path)?,
            parameters: entry.parameters.clone(),
            body: entry.body.clone(),
            headers,
        })
    }

    /// The request for these arguments, or what is wrong with them.
    pub(super) fn render(&self, args: &Value) -> Result<Rendered, String> {
        let mut path_and_query = self.path(args)?;
        let mut headers = self.headers.clone();
        let mut query = Vec::new();
        for parameter in &self.parameters {
            let Some(value) = args.get(&parameter.arg).filter(|value| !value.is_null()) else {
                continue;
            };
            match parameter.place {
                Place::Query => query.extend(pairs(parameter, value)?),
                Place::Header => {
                    let (name, value) = line(parameter, value)?;
                    headers.insert(name, value);
                }
            }
        }
        for (at, (name, value)) in query.into_iter().enumerate() {
            path_and_query.push(if at == 0 { '?' } else { '&' });
            encode(&name, &mut path_and_query);
            path_and_query.push('=');
            encode(&value, &mut path_and_query);
        }
        if path_and_query.len() > LONGEST {
            return Err(format!("/: expected arguments that fit an address of {LONGEST} bytes"));
        }
        let body = self.body(args);
        if !body.is_empty() {
            let json = HeaderValue::from_static("application/json");
            headers.insert(header::CONTENT_TYPE, json);
        }
        Ok(Rendered { path_and_query, headers, body })
    }

    fn path(&self, args: &Value) -> Result<String, String> {
        let mut path = String::new();
        for segment in &self.segments {
            match segment {
                Segment::Text(text) => path.push_str(text),
                Segment::Argument(name) => {
                    let value = args.get(name).unwrap_or(&Value::Null);
                    let text = scalar(value).filter(|text| is_one_segment(text));
                    let text = text.ok_or_else(|| {
                        format!(
                            "/{name}: expected a text or a number that is no step to another path"
                        )
                    })?;
                    encode(&text, &mut path);
                }
            }
        }
        Ok(path)
    }

    fn body(&self, args: &Value) -> Bytes {
        match &self.body {
            None => Bytes::new(),
            Some(Body::Arg(name)) => {
                args.get(name).map_or_else(Bytes::new, |value| value.to_string().into())
            }
            Some(Body::Members(names)) => {
                let member = |name: &String| Some((name.clone(), args.get(name)?.clone()));
                let members: Map<String, Value> = names.iter().filter_map(member).collect();
                Value::Object(members).to_string().into()
            }
        }
    }
}

/// Some servers decode a path before they walk it, so what would be a step stays out of it even
/// where its slashes are encoded.
fn is_one_segment(text: &str) -> bool {
    !text.is_empty() && text.split(['/', '\\']).all(|part| part != "." && part != "..")
}

fn pairs(parameter: &Parameter, value: &Value) -> Result<Vec<(String, String)>, String> {
    let wrong = |expected: &str| format!("/{}: expected {expected}", parameter.arg);
    let named = |value: String| (parameter.name.clone(), value);
    match (parameter.style, value) {
        (Style::Json, value) => Ok(vec![named(value.to_string())]),
        (Style::DeepObject, Value::Object(members)) => {
            let pair = |(member, value): (&String, &Value)| {
                let name = format!("{}[{member}]", parameter.name);
                match value {
                    Value::Array(items) => {
                        let texts: Option<Vec<_>> = items.iter().map(scalar).collect();
                        texts.map(|texts| texts.into_iter().map(|it| (name.clone(), it)).collect())
                    }
                    one => scalar(one).map(|text| vec![(name, text)]),
                }
            };
            let pairs: Option<Vec<Vec<_>>> = members.iter().map(pair).collect();
            let pairs = pairs.ok_or_else(|| wrong("members that are texts, numbers or lists"))?;
            Ok(pairs.into_iter().flatten().collect())
        }
        (Style::Form, Value::Array(items)) => {
            let texts: Option<Vec<_>> = items.iter().map(scalar).collect();
            let texts = texts.ok_or_else(|| wrong("a list of texts or numbers"))?;
            Ok(texts.into_iter().map(named).collect())
        }
        (Style::Comma, Value::Array(items)) => {
            let texts: Option<Vec<_>> = items.iter().map(scalar).collect();
            let texts = texts.ok_or_else(|| wrong("a list of texts or numbers"))?;
            Ok(vec![named(texts.join(","))])
        }
        (Style::Form | Style::Comma | Style::DeepObject, one) => {
            let text = scalar(one).ok_or_else(|| wrong("a text, a number or a list of them"))?;
            Ok(vec![named(text)])
        }
    }
}

fn line(parameter: &Parameter, value: &Value) -> Result<(HeaderName, HeaderValue), String> {
    let wrong = || format!("/{}: expected a text of visible ASCII characters", parameter.arg);
    let text = match (parameter.style, value) {
        (Style::Json, value) => Some(value.to_string()),
        (Style::Form | Style::Comma | Style::DeepObject, Value::Array(items)) => {
            items.iter().map(scalar).collect::<Option<Vec<_>>>().map(|texts| texts.join(","))
        }
        (Style::Form | Style::Comma | Style::DeepObject, one) => scalar(one),
    };
    let text = text.filter(|text| text.bytes().all(|byte| matches!(byte, b' '..=b'~')));
    let value = HeaderValue::try_from(text.ok_or_else(wrong)?).map_err(|_| wrong())?;
    let name = HeaderName::try_from(&parameter.name).map_err(|_| wrong())?;
    Ok((name, value))
}

/// The text of a value that has one.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        // The form that was digested, whatever the number's own print is.
        Value::Number(_) => String::from_utf8(crypto::json::canonical(value)).ok(),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Writes the text so that it has no meaning in an address beyond itself.
pub(super) fn encode(text: &str, to: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            to.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(to, "%{byte:02X}");
        }
    }
}
