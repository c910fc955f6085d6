//! The request that a call comes to: where each argument goes, and how it is written there.
//!
//! What an argument holds never changes which operation is called: in a path it is one segment, in a
//! query one value, in a header one line of visible characters.

use std::{borrow::Cow, collections::BTreeSet};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::{Map, Value};

use super::{
    entry::{Body, Content, Entry, MediaType, Method, Parameter, Place},
    form::{Form, NEEDED},
    names::Names,
    percent::decoded,
    style::scalar,
};

pub(super) use super::percent::encode;

/// The longest path and query that is sent.
const LONGEST: usize = 8 * 1024;
/// How many times an argument of a path may be percent-encoded by the caller.
const MOST_ENCODED: usize = 4;

/// The operation of one tool, ready to be called.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) method: Method,
    segments: Vec<Segment>,
    parameters: Vec<Parameter>,
    /// The names of the query.
    query: Names,
    /// The arguments that every call has.
    required: BTreeSet<String>,
    body: Option<Body>,
    /// How the body is written where it is a form.
    form: Option<Form>,
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
        let in_query = entry.parameters.iter().filter(|it| it.place == Place::Query);
        Some(Self {
            method: entry.method,
            segments: segments(&path)?,
            parameters: entry.parameters.clone(),
            query: Names::of(in_query.map(|parameter| parameter.name.as_str())),
            required: entry.required().into_iter().map(str::to_owned).collect(),
            body: entry.body.clone(),
            form: Form::of(entry),
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
            let is_sent = match parameter.place {
                Place::Query => {
                    let pairs = parameter.format.pairs(&parameter.name, value);
                    let pairs = pairs.and_then(|it| self.query.no_other(it, &parameter.name));
                    let pairs = pairs.map_err(|it| format!("/{}: expected {it}", parameter.arg))?;
                    let is_sent = !pairs.is_empty();
                    query.extend(pairs);
                    is_sent
                }
                Place::Header => {
                    let line = line(parameter, value)?;
                    let is_sent = line.is_some();
                    line.map(|(name, value)| headers.insert(name, value));
                    is_sent
                }
            };
            if !is_sent {
                self.may_be_absent(&parameter.arg)?;
            }
        }
        if !query.is_empty() {
            path_and_query.push('?');
            path_and_query.push_str(&query.join("&"));
        }
        if path_and_query.len() > LONGEST {
            return Err(format!("/: expected arguments that fit an address of {LONGEST} bytes"));
        }
        let Some((media_type, body)) = self.body(args)? else {
            return Ok(Rendered { path_and_query, headers, body: Bytes::new() });
        };
        let media_type = HeaderValue::from_static(media_type.name());
        headers.insert(header::CONTENT_TYPE, media_type);
        Ok(Rendered { path_and_query, headers, body })
    }

    fn path(&self, args: &Value) -> Result<String, String> {
        let mut path = String::new();
        // The segment that is being written, as it is before it is encoded, and its last argument.
        let (mut plain, mut last) = (String::new(), None);
        for segment in &self.segments {
            match segment {
                Segment::Text(text) => {
                    path.push_str(text);
                    let mut parts = text.split('/');
                    plain.push_str(parts.next().unwrap_or_default());
                    for part in parts {
                        one_segment(&plain, last.take())?;
                        part.clone_into(&mut plain);
                    }
                }
                Segment::Argument(name) => {
                    let value = args.get(name).unwrap_or(&Value::Null);
                    let text = scalar(value).unwrap_or_default();
                    one_segment(&text, Some(name))?;
                    plain.push_str(&text);
                    last = Some(name);
                    encode(&text, &mut path);
                }
            }
        }
        one_segment(&plain, last)?;
        Ok(path)
    }

    /// The body and its media type; `None` where the request has none.
    fn body(&self, args: &Value) -> Result<Option<(MediaType, Bytes)>, String> {
        let Some(body) = &self.body else { return Ok(None) };
        let value = match &body.content {
            Content::Arg(name) => args.get(name).cloned(),
            Content::Members(names) => {
                let member = |name: &String| Some((name.clone(), args.get(name)?.clone()));
                let members: Map<String, Value> = names.iter().filter_map(member).collect();
                (!members.is_empty() || !body.optional).then_some(Value::Object(members))
            }
        };
        let Some(value) = value else { return Ok(None) };
        let written = match &self.form {
            Some(form) => form.write(&value)?,
            None => value.to_string(),
        };
        Ok(Some((body.media_type, written.into())))
    }

    /// Refuses a value that is written as nothing where the API needs one.
    fn may_be_absent(&self, argument: &str) -> Result<(), String> {
        if self.required.contains(argument) {
            return Err(format!("/{argument}: expected {NEEDED}"));
        }
        Ok(())
    }
}

/// Checks a text of an argument, or a segment with an argument in it.
fn one_segment(text: &str, argument: Option<&String>) -> Result<(), String> {
    match argument {
        Some(name) if !is_one_segment(text) => Err(format!(
            "/{name}: expected a text or a number that is one segment of a path: not empty, not `.` or \
             `..`, and without `/` and `\\`, encoded or not"
        )),
        _ => Ok(()),
    }
}

/// Whether a server sees one segment in the text, however often it decodes a path before it resolves
/// the steps in it, and whether or not it takes `;` for the start of a path parameter, or `?` and `#` for
/// the end of the path. A text that is
/// encoded more often than `MOST_ENCODED` times is not accepted.
fn is_one_segment(text: &str) -> bool {
    let mut text = Cow::Borrowed(text);
    for _ in 0..=MOST_ENCODED {
        let step = text.split([';', '?', '#']).next().unwrap_or_default();
        if text.contains(['/', '\\'])
            || text.contains(char::is_control)
            || matches!(step, "" | "." | "..")
        {
            return false;
        }
        let decoded = decoded(&text).into_owned();
        if decoded == *text {
            return true;
        }
        text = Cow::Owned(decoded);
    }
    false
}

/// A header; none where its list is empty.
fn line(parameter: &Parameter, value: &Value) -> Result<Option<(HeaderName, HeaderValue)>, String> {
    let wrong = |expected: &str| format!("/{}: expected {expected}", parameter.arg);
    let visible = || wrong("a text of visible ASCII characters without blanks at its ends");
    let text = parameter.format.line(value).map_err(|expected| wrong(&expected))?;
    let Some(text) = text else { return Ok(None) };
    // HTTP removes blanks at the ends of a value (RFC 9110, 5.5).
    if !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || text.trim() != text {
        return Err(visible());
    }
    let value = HeaderValue::try_from(text).map_err(|_| visible())?;
    let name = HeaderName::try_from(&parameter.name).map_err(|_| visible())?;
    Ok(Some((name, value)))
}
