//! Reads a whole document.

use std::sync::Arc;

use super::{
    Document, MAX_BYTES, approval, budget,
    place::Path,
    reader::{Field, Reader},
    rules,
};
use crate::{
    error::{Code, DocumentError, Finding, Severity},
    expr::Constants,
    tree::{self, Data, Node},
};

/// The keys of a document.
pub(crate) const KEYS: [&str; 6] =
    ["schema", "default", "constants", "rules", "budgets", "approvals"];

/// The document that the text is, YAML 1.2 or JSON, or everything that is wrong with it.
pub fn parse(text: &str) -> Result<Document, DocumentError> {
    if text.len() > MAX_BYTES {
        let message = format!("expected a document of at most {MAX_BYTES} bytes");
        return Err(whole(Code::TooLarge, message));
    }
    let root = tree::read(text).map_err(|findings| DocumentError { findings })?;
    let mut reader = Reader::new(text);
    let document = read(&mut reader, &root);
    let mut findings = reader.into_findings();
    match document {
        Some(document) if findings.is_empty() => Ok(document),
        Some(_) | None => {
            findings.sort_by_key(|finding| (finding.line, finding.column));
            Err(DocumentError { findings })
        }
    }
}

fn read(reader: &mut Reader<'_>, root: &Node) -> Option<Document> {
    let path = Path::Root;
    let fields = reader.map(root, &path, &KEYS)?;
    let schema = fields.need(reader, "schema");
    read_schema(reader, schema);
    read_constants(reader, fields.find("constants"));
    let default = fields.find("default");
    if default.is_none() {
        let message = "expected `default`, such as `default: { outcome: deny }`";
        reader.push(Code::NoDefault, root.at, &path, message);
    }
    let expires_in = approval::policy_wide(reader, fields.find("approvals"));
    let default = default.and_then(|field| rules::fallback(reader, field, expires_in));
    let rules = rules::rules(reader, fields.find("rules"), expires_in);
    let budgets = budget::budgets(reader, fields.find("budgets"));
    let json = root.to_json();
    let text = reader.source().to_owned();
    Some(Document { default: default?, rules, budgets, text, json })
}

fn read_schema(reader: &mut Reader<'_>, field: Option<Field<'_>>) {
    let Some(field) = field else { return };
    if field.node.data != Data::Int(1) {
        let message = "expected `1`, the only schema there is";
        reader.push(Code::BadValue, field.node.at, &field.path, message);
    }
}

fn read_constants(reader: &mut Reader<'_>, field: Option<Field<'_>>) {
    let Some(field) = field else { return };
    let Data::Map(entries) = &field.node.data else {
        reader.wrong_type(&field, "a mapping of names to values");
        return;
    };
    let mut constants = Constants::new();
    for entry in entries {
        let path = Path::Key(&field.path, &entry.key);
        let mut letters = entry.key.bytes();
        let is_name = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
            && letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name {
            let message = "expected a name of letters, digits and `_`";
            reader.push(Code::BadValue, entry.at, &path, message);
        }
        if matches!(entry.node.data, Data::Map(_)) {
            reader.push(
                Code::WrongType,
                entry.node.at,
                &path,
                "expected a value or a list of values",
            );
        }
        constants.insert(entry.key.clone(), Arc::new(entry.node.to_json()));
    }
    reader.set_constants(constants);
}

fn whole(code: Code, message: String) -> DocumentError {
    let finding = Finding {
        severity: Severity::Error,
        code,
        rule: None,
        path: String::new(),
        line: 1,
        column: 1,
        message,
        example: None,
    };
    DocumentError { findings: vec![finding] }
}
