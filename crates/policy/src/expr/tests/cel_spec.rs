//! The CEL specification's own test cases, those of them that lie in the language.
//!
//! A case is out when the parser or the checker refuses its expression; every other case must give
//! the specification's answer. `cel_spec_cases.txt` names all of them, as they came out.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use expect_test::{expect, expect_file};
use serde_json::Value as Json;

use super::run;

/// Where the answers differ from the specification's, and why; each of these is met.
const DEVIATIONS: [(&str, &str); 7] = [
    ("toString_timestamp_nanos", "times end 26 hours before the year 9999 does"),
    ("not_lt_dyn_int_big_lossy_double", "an int and a double compare without rounding"),
    ("not_gt_dyn_big_double_int", "an int and a double compare without rounding"),
    ("lte_dyn_big_double_int", "an int and a double compare without rounding"),
    ("gte_dyn_int_big_lossy_double", "an int and a double compare without rounding"),
    ("fp_overflow_positive", "no double is infinite"),
    ("fp_overflow_negative", "no double is infinite"),
];

#[test]
fn the_cases_of_the_specification_that_lie_in_the_language_pass() {
    #[expect(clippy::disallowed_methods, reason = "published test data lies outside the project")]
    let Ok(folder) = std::env::var("CHANCERY_TEST_DATA") else {
        eprintln!("left out: CEL specification cases, since CHANCERY_TEST_DATA is not set");
        return;
    };
    let (mut report, mut named) = (String::new(), String::new());
    let (mut failures, mut deviations) = (Vec::new(), 0);
    for file in FILES {
        let path = Path::new(&folder).join("cel-spec").join(format!("{file}.textproto"));
        let text = std::fs::read_to_string(&path).unwrap();
        let (mut passed, mut out) = (0, 0);
        for case in cases(&text) {
            let word = match judge(&case) {
                Judgement::Passed => {
                    passed += 1;
                    "passed"
                }
                Judgement::Out => {
                    out += 1;
                    "out"
                }
                Judgement::Deviates => {
                    deviations += 1;
                    "deviates"
                }
                Judgement::Failed(found) => {
                    failures.push(format!("{file}: {case:?}: {found}"));
                    "failed"
                }
            };
            writeln!(named, "{file} {} {word}", case.name).unwrap();
        }
        writeln!(report, "{file}: {passed} passed, {out} out").unwrap();
    }
    assert_eq!(deviations, DEVIATIONS.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    expect![[r#"
        basic: 27 passed, 5 out
        comparisons: 175 passed, 227 out
        conversions: 38 passed, 36 out
        fields: 7 passed, 48 out
        fp_math: 22 passed, 6 out
        integer_math: 31 passed, 23 out
        lists: 20 passed, 19 out
        logic: 22 passed, 8 out
        macros: 20 passed, 24 out
        namespace: 6 passed, 8 out
        optionals: 2 passed, 63 out
        parse: 105 passed, 33 out
        plumbing: 4 passed, 0 out
        string: 45 passed, 2 out
        timestamps: 72 passed, 3 out
    "#]]
    .assert_eq(&report);
    expect_file!["cel_spec_cases.txt"].assert_eq(&named);
}

const FILES: [&str; 15] = [
    "basic",
    "comparisons",
    "conversions",
    "fields",
    "fp_math",
    "integer_math",
    "lists",
    "logic",
    "macros",
    "namespace",
    "optionals",
    "parse",
    "plumbing",
    "string",
    "timestamps",
];

#[derive(Debug)]
struct Case {
    name: String,
    expr: String,
    /// The value in the short form, or nothing where an error is expected.
    value: Option<String>,
}

enum Judgement {
    Passed,
    Out,
    Deviates,
    Failed(String),
}

fn judge(case: &Case) -> Judgement {
    // `dyn` only hides a kind from a checker, a division by zero stands for any error, and maps
    // come in as arguments here.
    let expr = ["1/0", "1 / 0", "2 / 0"]
        .iter()
        .fold(case.expr.replace("dyn(", "("), |expr, error| expr.replace(error, "args.missing"));
    let (expr, args) = with_maps_as_arguments(&expr);
    let found = run(&expr, &args);
    let is_error = found.contains(": ") && !found.starts_with('\'');
    match &case.value {
        _ if found.starts_with("refused: ") => Judgement::Out,
        Some(value) if *value == found => Judgement::Passed,
        None if is_error => Judgement::Passed,
        _ if DEVIATIONS.iter().any(|(name, _)| *name == case.name) => Judgement::Deviates,
        _ => Judgement::Failed(found),
    }
}

/// Puts every map of literals into the arguments and a reading of it in its place.
fn with_maps_as_arguments(expr: &str) -> (String, Json) {
    let (mut text, mut args) = (String::new(), serde_json::Map::new());
    let mut rest = expr;
    while let Some((before, after)) = rest.split_once('{') {
        text += before;
        let map = after.match_indices('}').find_map(|(end, _)| {
            let candidate = format!("{{{}", after.get(..=end)?).replace('\'', "\"");
            Some((serde_json::from_str::<Json>(&candidate).ok()?, end + 1))
        });
        rest = if let Some((map, end)) = map {
            write!(text, "args.m{}", args.len()).unwrap();
            args.insert(format!("m{}", args.len()), map);
            after.get(end..).unwrap()
        } else {
            text += "{";
            after
        };
    }
    (text + rest, Json::Object(args))
}

fn cases(text: &str) -> Vec<Case> {
    let file = Proto { text: text.as_bytes(), at: 0 }.message();
    let sections = file.iter().filter(|(name, _)| name == "section");
    let tests = sections.flat_map(|(_, section)| section.fields("test"));
    tests.filter_map(case).collect()
}

/// The case, when its expected answer is of a kind that the language has.
fn case(test: &Field) -> Option<Case> {
    let expr = test.text("expr")?;
    let value = match (test.find("value"), test.find("eval_error")) {
        (Some(value), None) => Some(expected(value)?),
        (None, Some(_)) => None,
        // Nothing said means true.
        (None, None) if test.find("typed_result").is_none() => Some("true".to_owned()),
        _ => return None,
    };
    Some(Case { name: test.text("name")?, expr, value })
}

fn expected(value: &Field) -> Option<String> {
    let (name, content) = value.only()?;
    Some(match (name, content) {
        ("null_value", _) => "null".to_owned(),
        ("bool_value" | "int64_value", Field::Word(word)) => word.clone(),
        ("double_value", Field::Word(word)) => format!("{:?}", double(word)?),
        ("string_value", Field::Text(text)) => {
            format!("'{}'", String::from_utf8(text.clone()).ok()?)
        }
        ("list_value", list) => {
            let items: Option<Vec<String>> = list.fields("values").map(expected).collect();
            format!("[{}]", items?.join(", "))
        }
        ("object_value", object) => {
            let (kind, content) = object.only()?;
            let number =
                |name: &str| content.word(name).map_or(Some(0), |word| word.parse::<i64>().ok());
            let (seconds, nanos) = (number("seconds")?, i32::try_from(number("nanos")?).ok()?);
            match kind.rsplit('.').next()? {
                "Timestamp" => jiff::Timestamp::new(seconds, nanos).ok()?.to_string(),
                "Duration" => {
                    crate::expr::duration::print(jiff::SignedDuration::new(seconds, nanos))
                }
                _ => return None,
            }
        }
        _ => return None,
    })
}

fn double(word: &str) -> Option<f64> {
    match word {
        "inf" | "infinity" | "Infinity" => Some(f64::INFINITY),
        "-inf" | "-infinity" | "-Infinity" => Some(f64::NEG_INFINITY),
        "nan" | "NaN" => Some(f64::NAN),
        _ => word.parse().ok(),
    }
}

/// A field of the protocol buffers' text format.
#[derive(Debug)]
enum Field {
    Word(String),
    Text(Vec<u8>),
    Message(Vec<(String, Field)>),
}

impl Field {
    fn find(&self, name: &str) -> Option<&Field> {
        self.fields(name).next()
    }

    fn fields<'f>(&'f self, name: &str) -> impl Iterator<Item = &'f Field> {
        let fields = match self {
            Self::Message(fields) => fields.as_slice(),
            Self::Word(_) | Self::Text(_) => &[],
        };
        fields.iter().filter(move |(found, _)| found == name).map(|(_, field)| field)
    }

    fn only(&self) -> Option<(&str, &Field)> {
        match self {
            Self::Message(fields) => match &fields[..] {
                [(name, field)] => Some((name, field)),
                _ => None,
            },
            Self::Word(_) | Self::Text(_) => None,
        }
    }

    fn text(&self, name: &str) -> Option<String> {
        match self.find(name)? {
            Self::Text(text) => String::from_utf8(text.clone()).ok(),
            Self::Word(_) | Self::Message(_) => None,
        }
    }

    fn word(&self, name: &str) -> Option<&str> {
        match self.find(name)? {
            Self::Word(word) => Some(word),
            Self::Text(_) | Self::Message(_) => None,
        }
    }
}

struct Proto<'t> {
    text: &'t [u8],
    at: usize,
}

impl Proto<'_> {
    fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'#' => {
                    while self.text.get(self.at).is_some_and(|byte| *byte != b'\n') {
                        self.at += 1;
                    }
                }
                b' ' | b'\n' | b'\t' | b'\r' | b',' | b';' | b':' => self.at += 1,
                _ => return Some(*byte),
            }
        }
        None
    }

    fn message(&mut self) -> Vec<(String, Field)> {
        let mut fields = Vec::new();
        while let Some(byte) = self.peek() {
            if byte == b'}' {
                self.at += 1;
                break;
            }
            let name = self.word();
            match self.peek() {
                Some(b'{') => {
                    self.at += 1;
                    fields.push((name, Field::Message(self.message())));
                }
                Some(b'[') => {
                    self.at += 1;
                    while self.peek() != Some(b']') {
                        let field = self.value();
                        fields.push((name.clone(), field));
                    }
                    self.at += 1;
                }
                _ => {
                    let field = self.value();
                    fields.push((name, field));
                }
            }
        }
        fields
    }

    fn value(&mut self) -> Field {
        match self.peek() {
            Some(b'{') => {
                self.at += 1;
                Field::Message(self.message())
            }
            Some(b'"' | b'\'') => {
                let mut text = Vec::new();
                while let Some(quote @ (b'"' | b'\'')) = self.peek() {
                    self.at += 1;
                    self.string(quote, &mut text);
                }
                Field::Text(text)
            }
            _ => Field::Word(self.word()),
        }
    }

    fn word(&mut self) -> String {
        let start = self.at;
        if self.text[self.at] == b'[' {
            while self.text[self.at] != b']' {
                self.at += 1;
            }
            self.at += 1;
            return String::from_utf8(self.text[start + 1..self.at - 1].to_vec()).unwrap();
        }
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.+-/".contains(byte);
        while self.text.get(self.at).is_some_and(part) {
            self.at += 1;
        }
        assert!(self.at > start, "unreadable at byte {start}");
        String::from_utf8(self.text[start..self.at].to_vec()).unwrap()
    }

    fn string(&mut self, quote: u8, text: &mut Vec<u8>) {
        while self.text[self.at] != quote {
            let byte = self.text[self.at];
            self.at += 1;
            if byte != b'\\' {
                text.push(byte);
                continue;
            }
            let kind = self.text[self.at];
            self.at += 1;
            let (digits, radix) = match kind {
                b'x' => (2, 16),
                b'u' => (4, 16),
                b'U' => (8, 16),
                b'0'..=b'3' => {
                    self.at -= 1;
                    (3, 8)
                }
                _ => {
                    let known: BTreeMap<u8, u8> = [
                        (b'n', b'\n'),
                        (b't', b'\t'),
                        (b'r', b'\r'),
                        (b'a', 7),
                        (b'b', 8),
                        (b'f', 12),
                        (b'v', 11),
                    ]
                    .into();
                    text.push(*known.get(&kind).unwrap_or(&kind));
                    continue;
                }
            };
            let code = std::str::from_utf8(&self.text[self.at..self.at + digits]).unwrap();
            let code = u32::from_str_radix(code, radix).unwrap();
            self.at += digits;
            match (kind, char::from_u32(code)) {
                (b'u' | b'U', Some(letter)) => text.extend(letter.to_string().bytes()),
                _ => text.push(u8::try_from(code).unwrap_or(b'?')),
            }
        }
        self.at += 1;
    }
}
