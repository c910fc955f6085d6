//! The short forms of the files below `api`, and what they are written out as. They say of an operation
//! what only a person can say; what operations have in common follows.
//!
//! An operation is one of `OpenAPI`, but for these members:
//!
//! - `parameters: [Limit, Cursor]` names parts of `components`. The version header is added.
//! - `requestBody` has `schema` (a name), `example` or `examples`, `required: false` where it may be
//!   left out, and `form` (a name) where a form is taken too. An example that is `$name` refers to a
//!   part of `components`.
//! - A response that is a word refers to a part of `components`. One with `schema` is JSON of that
//!   schema, and one with `media` is text of that type; its example is named like the operation, or as
//!   `examples` says. `headers` names parts of `components` by header. The standard two are added.
//! - The responses that follow from path, access and body are added: [`STANDARD`]. One that is `~` is
//!   left out.
//!
//! The tag of an operation is that of its file, `tag`. A schema that is `list of Agent` is a page of
//! those.

use std::fmt::Write as _;

/// When an operation has a response.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    /// It looks at who calls.
    LooksAtCaller,
    /// Its path names an object.
    NamesObject,
    /// It takes a body.
    TakesBody,
}

/// The responses that follow from the rest of an operation.
#[rustfmt::skip]
const STANDARD: [(&str, &str, When); 11] = [
    ("400", "BadRequest",           When::Always),
    ("401", "Unauthenticated",      When::LooksAtCaller),
    ("403", "Forbidden",            When::LooksAtCaller),
    ("404", "NotFound",             When::NamesObject),
    ("413", "BodyTooLarge",         When::TakesBody),
    ("414", "UriTooLong",           When::Always),
    ("415", "MediaTypeUnsupported", When::TakesBody),
    ("429", "TooMany",              When::Always),
    ("431", "HeadersTooLarge",      When::Always),
    ("500", "InternalError",        When::Always),
    ("503", "Unavailable",          When::Always),
];

/// The line of a file that is not understood.
type Misread = String;

/// A member of a mapping: its key, what follows it on the line, and the lines below it.
struct Member<'a> {
    key: &'a str,
    value: &'a str,
    below: Vec<&'a str>,
}

/// The members of a mapping whose keys are indented so far.
fn members<'a>(lines: &[&'a str], indent: usize) -> Result<Vec<Member<'a>>, Misread> {
    let mut found: Vec<Member<'a>> = Vec::new();
    for line in lines {
        let at = line.len() - line.trim_start().len();
        match (found.last_mut(), line.trim_start().split_once(':')) {
            (_, Some((key, value))) if at == indent && !line.is_empty() => {
                found.push(Member { key, value: value.trim(), below: Vec::new() });
            }
            (Some(last), _) if at > indent || line.is_empty() => last.below.push(line),
            _ => return Err((*line).to_owned()),
        }
    }
    Ok(found)
}

/// The paths with their operations written out.
pub(crate) fn written_out(paths: &str, tag: &str) -> Result<String, Misread> {
    let lines: Vec<&str> = paths.lines().collect();
    let mut text = String::new();
    for path in members(&lines, 2)? {
        let _ = writeln!(text, "  {}:", path.key);
        for method in members(&path.below, 4)? {
            let _ = writeln!(text, "    {}:", method.key);
            Operation::read(path.key, &method.below)?.write(tag, &mut text)?;
        }
    }
    Ok(text)
}

/// A schema that is a page of a list, written out.
pub(crate) fn list(line: &str) -> Option<String> {
    let (name, item) = line.split_once(": list of ")?;
    Some(format!(
        r##"{name}:
      type: object
      required: [object, data, has_more, next_cursor]
      properties:
        object: {{ type: string, const: list }}
        data: {{ type: array, items: {{ $ref: "#/components/schemas/{item}" }} }}
        has_more: {{ type: boolean }}
        next_cursor: {{ type: [string, "null"] }}"##
    ))
}

struct Operation<'a> {
    path: &'a str,
    id: &'a str,
    members: Vec<Member<'a>>,
}

impl<'a> Operation<'a> {
    fn read(path: &'a str, lines: &[&'a str]) -> Result<Self, Misread> {
        let members = members(lines, 6)?;
        let id = members.iter().find(|member| member.key == "operationId");
        let id = id.ok_or_else(|| format!("{path}: an operation without `operationId`"))?.value;
        Ok(Self { path, id, members })
    }

    fn member(&self, key: &str) -> Option<&Member<'a>> {
        self.members.iter().find(|member| member.key == key)
    }

    /// The pages and files beside the interface have no version.
    fn has_version(&self) -> bool {
        self.path.starts_with("/v1/")
    }

    fn write(&self, tag: &str, text: &mut String) -> Result<(), Misread> {
        let has_parameters = self.member("parameters").is_some();
        let mut is_pending = !has_parameters && self.has_version();
        for member in &self.members {
            let comes_later = ["requestBody", "x-error-codes", "responses"].contains(&member.key);
            if is_pending && comes_later {
                self.parameters("", text);
                is_pending = false;
            }
            match member.key {
                "operationId" => {
                    let _ = writeln!(text, "      operationId: {}\n      tags: [{tag}]", self.id);
                }
                "parameters" => self.parameters(member.value, text),
                "requestBody" => body(member, text)?,
                "responses" => self.responses(member, text)?,
                _ => verbatim(member, 6, text),
            }
        }
        Ok(())
    }

    fn parameters(&self, names: &str, text: &mut String) {
        text.push_str("      parameters:\n");
        let own = names.trim_start_matches('[').trim_end_matches(']').split(", ");
        let version = self.has_version().then_some("Version");
        for name in version.into_iter().chain(own.filter(|name| !name.is_empty())) {
            let _ = writeln!(text, "        - $ref: \"#/components/parameters/{name}\"");
        }
    }

    fn responses(&self, member: &Member<'a>, text: &mut String) -> Result<(), Misread> {
        let own = members(&member.below, 8)?;
        let is_public = self.member("security").is_some_and(|it| it.value == "[]");
        let mut all: Vec<(&str, Response<'_>)> = STANDARD
            .iter()
            .filter(|(_, _, when)| match when {
                When::Always => true,
                When::LooksAtCaller => !is_public,
                When::NamesObject => self.path.contains('{'),
                When::TakesBody => self.member("requestBody").is_some(),
            })
            .filter(|(status, ..)| !own.iter().any(|it| unquoted(it.key) == *status))
            .map(|(status, name, _)| (*status, Response::Named(name)))
            .collect();
        for member in own.iter().filter(|member| member.value != "~") {
            let response = match member.value {
                "" => Response::Written(members(&member.below, 10)?),
                name => Response::Named(name),
            };
            all.push((unquoted(member.key), response));
        }
        all.sort_by_key(|(status, _)| *status);
        text.push_str("      responses:\n");
        for (status, response) in all {
            match response {
                Response::Named(name) => {
                    let _ = writeln!(
                        text,
                        "        \"{status}\": {{ $ref: \"#/components/responses/{name}\" }}"
                    );
                }
                Response::Written(members) => self.response(status, &members, text)?,
            }
        }
        Ok(())
    }

    fn response(
        &self,
        status: &str,
        members: &[Member<'_>],
        text: &mut String,
    ) -> Result<(), Misread> {
        let of = |key: &str| members.iter().find(|member| member.key == key);
        let _ = writeln!(text, "        \"{status}\":");
        for member in members {
            match member.key {
                "description" => {
                    verbatim(member, 10, text);
                    let own = of("headers").map(|member| member.value).unwrap_or_default();
                    self.headers(own, text);
                }
                "schema" | "media" => {
                    let (media, schema) = if member.key == "schema" {
                        let schema = format!("$ref: \"#/components/schemas/{}\"", member.value);
                        ("application/json", schema)
                    } else {
                        (member.value, "type: string".to_owned())
                    };
                    let examples = match of("examples") {
                        Some(examples) => pairs(examples.value),
                        None => vec![("example", self.id)],
                    };
                    let refer = |(name, of): &(&str, &str)| {
                        format!("{name}: {{ $ref: \"#/components/examples/{of}\" }}")
                    };
                    let examples: Vec<_> = examples.iter().map(refer).collect();
                    let examples = examples.join(", ");
                    let _ = writeln!(
                        text,
                        "          content:\n            {media}:\n              schema: {{ {schema} \
                         }}\n              examples: {{ {examples} }}"
                    );
                }
                "content" => verbatim(member, 10, text),
                "headers" | "examples" => {}
                other => return Err(format!("{} {status}: `{other}`", self.id)),
            }
        }
        Ok(())
    }

    fn headers(&self, own: &str, text: &mut String) {
        text.push_str("          headers:\n");
        let version = self.has_version().then_some(("Service-Version", "Version"));
        let standard = std::iter::once(("Service-Request-Id", "RequestId")).chain(version);
        for (header, name) in standard.chain(pairs(own)) {
            let _ =
                writeln!(text, "            {header}: {{ $ref: \"#/components/headers/{name}\" }}");
        }
    }
}

enum Response<'a> {
    /// A part of `components`.
    Named(&'a str),
    Written(Vec<Member<'a>>),
}

/// The body of a request.
fn body(member: &Member<'_>, text: &mut String) -> Result<(), Misread> {
    let members = members(&member.below, 8)?;
    let of = |key: &str| members.iter().find(|member| member.key == key);
    let schema = of("schema").ok_or_else(|| "requestBody: no `schema`".to_owned())?.value;
    let required = of("required").map_or("true", |member| member.value);
    let _ = write!(
        text,
        "      requestBody:\n        required: {required}\n        content:\n          \
         application/json:\n            schema:\n              $ref: \
         \"#/components/schemas/{schema}\"\n            examples:\n"
    );
    for member in &members {
        match member.key {
            "schema" | "required" | "form" => {}
            "example" => example("example", member, 8, text),
            "examples" => {
                for named in self::members(&member.below, 10)? {
                    example(named.key, &named, 10, text);
                }
            }
            other => return Err(format!("requestBody: `{other}`")),
        }
    }
    if let Some(form) = of("form") {
        let _ = writeln!(
            text,
            "          application/x-www-form-urlencoded:\n            schema: {{ $ref: \
             \"#/components/schemas/{}\" }}",
            form.value
        );
    }
    Ok(())
}

/// An example of a body: its value, or the name of a part of `components`, by `$`.
fn example(name: &str, member: &Member<'_>, indent: usize, text: &mut String) {
    if let Some(part) = member.value.strip_prefix('$') {
        let _ =
            writeln!(text, "              {name}: {{ $ref: \"#/components/examples/{part}\" }}");
        return;
    }
    let _ = writeln!(text, "              {name}:");
    let value = Member { key: "value", value: member.value, below: Vec::new() };
    verbatim(&value, 16, text);
    for line in &member.below {
        let _ = writeln!(text, "{}{line}", " ".repeat(16 - indent));
    }
}

/// A member as it stands.
fn verbatim(member: &Member<'_>, indent: usize, text: &mut String) {
    let line = format!("{}{}: {}", " ".repeat(indent), member.key, member.value);
    let _ = writeln!(text, "{}", line.trim_end());
    for line in &member.below {
        let _ = writeln!(text, "{line}");
    }
}

/// The pairs of `{ one: a, other: b }`.
fn pairs(flow: &str) -> Vec<(&str, &str)> {
    let inner = flow.trim_start_matches('{').trim_end_matches('}');
    inner.split(',').filter_map(|pair| pair.trim().split_once(": ")).collect()
}

fn unquoted(key: &str) -> &str {
    key.trim_matches('"')
}
