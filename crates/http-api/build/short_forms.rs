//! The short forms of the files below `api`, and what they are written out as. A file has what only a
//! person can say of an operation; what operations have in common is added.
//!
//! An operation is one of `OpenAPI`, but for these members:
//!
//! - `parameters: [Limit, Cursor]` names parts of `components`. The version header is added.
//! - `requestBody` has `schema` (a name), `example` or `examples`, `required: false` where it may be
//!   left out, and `form` (a name) where a form is taken too. An example that is `$name` refers to a
//!   part of `components`.
//! - A response that is a word refers to a part of `components`. Any other has a `description` and one
//!   of these: `schema`, JSON of that schema; `media`, text of that type; `content`, as it stands; or
//!   nothing. The example is named like the operation, or as `examples` says. `headers` names parts of
//!   `components` by header; the standard two are added.
//! - The responses that follow from path, access and body are added: [`STANDARD`]. One that is `~` is
//!   left out.
//!
//! The tag of an operation is that of its file, `tag`. A schema that is `list of Agent` is a page of
//! those. Anything else is refused: a part that was dropped would be missed by nobody.

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

/// The members that an operation may have.
const OF_OPERATION: [&str; 8] = [
    "operationId",
    "summary",
    "description",
    "security",
    "parameters",
    "requestBody",
    "x-error-codes",
    "responses",
];

/// What of a file is not understood.
type Misread = String;
type Result<T> = std::result::Result<T, Misread>;

/// A member of a mapping: its key, what follows it on the line, and the lines below it.
struct Member<'a> {
    key: &'a str,
    value: &'a str,
    below: Vec<&'a str>,
}

impl<'a> Member<'a> {
    fn misread(&self) -> Misread {
        format!("{}: {}", self.key, self.value)
    }

    /// The value, with nothing below it.
    fn alone(&self) -> Result<&'a str> {
        if self.below.is_empty() { Ok(self.value) } else { Err(self.misread()) }
    }

    /// The value as a name.
    fn word(&self) -> Result<&'a str> {
        word(self.alone()?).ok_or_else(|| self.misread())
    }

    /// The names of `[One, Other]`.
    fn words(&self) -> Result<Vec<&'a str>> {
        let inner = self.alone()?.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let words = inner.and_then(|inner| inner.split(", ").map(word).collect());
        words.ok_or_else(|| self.misread())
    }

    /// The pairs of `{ One: a, Other: b }`.
    fn pairs(&self) -> Result<Vec<(&'a str, &'a str)>> {
        let inner = self.alone()?.strip_prefix("{ ").and_then(|it| it.strip_suffix(" }"));
        let pair = |pair: &'a str| {
            let (name, value) = pair.split_once(": ")?;
            let is_header = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            (is_header || word(name).is_some()).then_some((name, word(value)?))
        };
        let pairs = inner.and_then(|inner| inner.split(", ").map(pair).collect());
        pairs.ok_or_else(|| self.misread())
    }

    /// The members of the mapping below the key, whose keys are indented so far.
    fn members(&self, indent: usize) -> Result<Vec<Member<'a>>> {
        if self.value.is_empty() { members(&self.below, indent) } else { Err(self.misread()) }
    }
}

fn word(text: &str) -> Option<&str> {
    let is_word = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_word && !text.is_empty()).then_some(text)
}

/// The members of a mapping whose keys are indented so far, each of which is there once.
fn members<'a>(lines: &[&'a str], indent: usize) -> Result<Vec<Member<'a>>> {
    let mut found: Vec<Member<'a>> = Vec::new();
    for line in lines {
        let text = line.trim_start();
        let at = line.len() - text.len();
        if at == indent && !text.is_empty() {
            let key = text.strip_suffix(':').map(|key| (key, ""));
            let (key, value) = text.split_once(": ").or(key).ok_or_else(|| (*line).to_owned())?;
            if key.contains(':') || found.iter().any(|member| member.key == key) {
                return Err((*line).to_owned());
            }
            found.push(Member { key, value: value.trim(), below: Vec::new() });
        } else {
            let is_below = at > indent || text.is_empty();
            let last = found.last_mut().filter(|_| is_below);
            last.ok_or_else(|| (*line).to_owned())?.below.push(line);
        }
    }
    Ok(found)
}

fn of<'m, 'a>(members: &'m [Member<'a>], key: &str) -> Option<&'m Member<'a>> {
    members.iter().find(|member| member.key == key)
}

/// The paths with their operations written out.
pub(crate) fn written_out(paths: &str, tag: &str) -> Result<String> {
    let lines: Vec<&str> = paths.lines().collect();
    if word(tag).is_none() && !lines.is_empty() {
        return Err(format!("tag: {tag}"));
    }
    let mut text = String::new();
    for path in members(&lines, 2)? {
        let _ = writeln!(text, "  {}:", path.key);
        for method in path.members(4)? {
            let _ = writeln!(text, "    {}:", method.key);
            Operation::read(path.key, &method)?.write(tag, &mut text)?;
        }
    }
    Ok(text)
}

/// A schema that is a page of a list, written out.
pub(crate) fn list(line: &str) -> Option<String> {
    let (name, item) = line.strip_prefix("    ")?.split_once(": list of ")?;
    let (name, item) = (word(name)?, word(item)?);
    Some(format!(
        r##"    {name}:
      type: object
      required: [object, data, has_more, next_cursor]
      properties:
        object: {{ type: string, const: list }}
        data: {{ type: array, items: {{ $ref: "#/components/schemas/{item}" }} }}
        has_more: {{ type: boolean }}
        next_cursor: {{ type: [string, "null"] }}"##
    ))
}

/// The parts of `components` that the document refers to and does not have.
pub(crate) fn missing(document: &str) -> Vec<String> {
    let mut parts = std::collections::BTreeSet::new();
    let mut part = "";
    for line in document.lines().skip_while(|line| *line != "components:") {
        let (text, at) = (line.trim_start(), line.len() - line.trim_start().len());
        let key = text.split(':').next().unwrap_or_default();
        match at {
            2 => part = key,
            4 => drop(parts.insert(format!("{part}/{key}"))),
            _ => {}
        }
    }
    let referred = document.split("#/components/").skip(1).map(|rest| {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_/".contains(letter);
        rest.split(|letter| !is_part(letter)).next().unwrap_or_default()
    });
    // A schema may be referred to by the place of a member of it.
    let named = referred.map(|name| name.splitn(3, '/').take(2).collect::<Vec<_>>().join("/"));
    let mut missing: Vec<_> = named.filter(|name| !parts.contains(name)).collect();
    missing.dedup();
    missing
}

struct Operation<'a> {
    path: &'a str,
    id: &'a str,
    members: Vec<Member<'a>>,
}

impl<'a> Operation<'a> {
    fn read(path: &'a str, method: &Member<'a>) -> Result<Self> {
        let members = method.members(6)?;
        let id = of(&members, "operationId");
        let id = id.ok_or_else(|| format!("{path}: an operation without `operationId`"))?.word()?;
        if let Some(other) = members.iter().find(|member| !OF_OPERATION.contains(&member.key)) {
            return Err(format!("{id}: `{}`", other.key));
        }
        Ok(Self { path, id, members })
    }

    /// The pages and files beside the interface have no version.
    fn has_version(&self) -> bool {
        self.path.starts_with("/v1/")
    }

    fn write(&self, tag: &str, text: &mut String) -> Result<()> {
        let has_parameters = of(&self.members, "parameters").is_some();
        let mut is_pending = !has_parameters && self.has_version();
        for member in &self.members {
            let comes_later = ["requestBody", "x-error-codes", "responses"].contains(&member.key);
            if is_pending && comes_later {
                self.parameters(&[], text);
                is_pending = false;
            }
            match member.key {
                "operationId" => {
                    let _ = writeln!(text, "      operationId: {}\n      tags: [{tag}]", self.id);
                }
                "parameters" => self.parameters(&member.words()?, text),
                "requestBody" => body(self.id, member, text)?,
                "responses" => self.responses(member, text)?,
                _ => verbatim(member, 6, text),
            }
        }
        Ok(())
    }

    fn parameters(&self, names: &[&str], text: &mut String) {
        text.push_str("      parameters:\n");
        let version = self.has_version().then_some("Version");
        for name in version.iter().chain(names) {
            let _ = writeln!(text, "        - $ref: \"#/components/parameters/{name}\"");
        }
    }

    /// The standard responses of the operation.
    fn standard(&self) -> Vec<(&'static str, &'static str)> {
        let is_public = of(&self.members, "security").is_some_and(|it| it.value == "[]");
        let follows = |when: &When| match when {
            When::Always => true,
            When::LooksAtCaller => !is_public,
            When::NamesObject => self.path.contains('{'),
            When::TakesBody => of(&self.members, "requestBody").is_some(),
        };
        let rows = STANDARD.iter().filter(|(_, _, when)| follows(when));
        rows.map(|(status, name, _)| (*status, *name)).collect()
    }

    fn responses(&self, member: &Member<'a>, text: &mut String) -> Result<()> {
        let own = member.members(8)?;
        let standard = self.standard();
        let is_own = |status: &str| own.iter().any(|it| unquoted(it.key) == status);
        let others = standard.iter().filter(|(status, _)| !is_own(status));
        let mut all: Vec<(&str, Response<'_>)> =
            others.map(|(status, name)| (*status, Response::Named(name))).collect();
        for member in &own {
            let status = unquoted(member.key);
            match member.value {
                "~" if standard.iter().any(|(follows, _)| *follows == status) => {
                    member.alone()?;
                }
                "" => all.push((status, Response::Written(member.members(10)?))),
                _ => all.push((status, Response::Named(member.word()?))),
            }
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

    fn response(&self, status: &str, members: &[Member<'_>], text: &mut String) -> Result<()> {
        let misread = |what: &str| format!("{} {status}: {what}", self.id);
        let _ = writeln!(text, "        \"{status}\":");
        let description = of(members, "description");
        verbatim(description.ok_or_else(|| misread("no `description`"))?, 10, text);
        self.headers(of(members, "headers").map(Member::pairs).transpose()?, text);
        let examples = of(members, "examples").map(Member::pairs).transpose()?;
        let mut contents = 0;
        for member in members {
            let (media, schema) = match member.key {
                "description" | "headers" | "examples" => continue,
                "content" => {
                    verbatim(member, 10, text);
                    contents += 1;
                    continue;
                }
                "schema" => {
                    let schema = format!("$ref: \"#/components/schemas/{}\"", member.word()?);
                    ("application/json", schema)
                }
                "media" => (member.alone()?, "type: string".to_owned()),
                other => return Err(misread(&format!("`{other}`"))),
            };
            contents += 1;
            let examples = examples.clone().unwrap_or_else(|| vec![("example", self.id)]);
            let refer = |(name, of): &(&str, &str)| {
                format!("{name}: {{ $ref: \"#/components/examples/{of}\" }}")
            };
            let examples = examples.iter().map(refer).collect::<Vec<_>>().join(", ");
            let _ = writeln!(
                text,
                "          content:\n            {media}:\n              schema: {{ {schema} \
                 }}\n              examples: {{ {examples} }}"
            );
        }
        if contents > 1 { Err(misread("more than one content")) } else { Ok(()) }
    }

    fn headers(&self, own: Option<Vec<(&str, &str)>>, text: &mut String) {
        text.push_str("          headers:\n");
        let version = self.has_version().then_some(("Service-Version", "Version"));
        let standard = std::iter::once(("Service-Request-Id", "RequestId")).chain(version);
        for (header, name) in standard.chain(own.unwrap_or_default()) {
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
fn body(id: &str, member: &Member<'_>, text: &mut String) -> Result<()> {
    let members = member.members(8)?;
    let misread = |what: &str| format!("{id} requestBody: {what}");
    let schema = of(&members, "schema").ok_or_else(|| misread("no `schema`"))?.word()?;
    let required = of(&members, "required").map_or(Ok("true"), Member::word)?;
    let _ = write!(
        text,
        "      requestBody:\n        required: {required}\n        content:\n          \
         application/json:\n            schema:\n              $ref: \
         \"#/components/schemas/{schema}\"\n            examples:\n"
    );
    match (of(&members, "example"), of(&members, "examples")) {
        (Some(one), None) => example("example", one, 8, text)?,
        (None, Some(many)) => {
            for named in many.members(10)? {
                example(named.key, &named, 10, text)?;
            }
        }
        (None, None) | (Some(_), Some(_)) => return Err(misread("one of `example`, `examples`")),
    }
    if let Some(form) = of(&members, "form") {
        let _ = writeln!(
            text,
            "          application/x-www-form-urlencoded:\n            schema: {{ $ref: \
             \"#/components/schemas/{}\" }}",
            form.word()?
        );
    }
    let known = ["schema", "required", "form", "example", "examples"];
    let other = members.iter().find(|member| !known.contains(&member.key));
    other.map_or(Ok(()), |other| Err(misread(&format!("`{}`", other.key))))
}

/// An example of a body: its value, or the name of a part of `components`, by `$`.
fn example(name: &str, member: &Member<'_>, indent: usize, text: &mut String) -> Result<()> {
    if let Some(part) = member.value.strip_prefix('$') {
        member.alone()?;
        let part = word(part).ok_or_else(|| member.misread())?;
        let _ =
            writeln!(text, "              {name}: {{ $ref: \"#/components/examples/{part}\" }}");
        return Ok(());
    }
    let _ = writeln!(text, "              {name}:");
    let value = Member { key: "value", value: member.value, below: Vec::new() };
    verbatim(&value, 16, text);
    for line in &member.below {
        let _ = writeln!(text, "{}{line}", " ".repeat(16 - indent));
    }
    Ok(())
}

/// A member as it stands.
fn verbatim(member: &Member<'_>, indent: usize, text: &mut String) {
    let line = format!("{}{}: {}", " ".repeat(indent), member.key, member.value);
    let _ = writeln!(text, "{}", line.trim_end());
    for line in &member.below {
        let _ = writeln!(text, "{line}");
    }
}

fn unquoted(key: &str) -> &str {
    key.trim_matches('"')
}
