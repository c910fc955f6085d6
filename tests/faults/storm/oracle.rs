//! What one client sent and was told, line by line in a file of its own, written before it acts on
//! it; and what an edge ran, on the disk before it says so.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use serde_json::{Value, json};

use crate::kill::Evidence;

/// The files of one client.
#[derive(Debug)]
pub(crate) struct Oracle {
    told: File,
    ran: File,
}

impl Oracle {
    /// Makes the files of a client in this folder.
    pub(crate) fn new(folder: &Path, client: &str) -> Self {
        let file = |kind: &str| File::create(folder.join(format!("{client}.{kind}"))).unwrap();
        Self { told: file("told"), ran: file("ran") }
    }

    /// Notes that this key is about to be used.
    pub(crate) fn sends(&mut self, key: &str) {
        writeln!(self.told, "{}", json!({ "key": key })).unwrap();
    }

    /// Notes the action that answered this key.
    pub(crate) fn is_told(&mut self, key: &str, action: &Value) {
        let kept = json!({ "id": action["id"], "deed": action["deed"] });
        writeln!(self.told, "{}", json!({ "key": key, "action": kept })).unwrap();
    }

    /// Runs an edge's call: it is on the disk before the edge reports.
    pub(crate) fn runs(&mut self, action: &Value) {
        writeln!(self.ran, "{}", action["id"].as_str().unwrap()).unwrap();
        self.ran.sync_data().unwrap();
    }
}

/// What all clients of this folder noted.
pub(crate) fn read(folder: &Path) -> Evidence {
    let mut evidence = Evidence::default();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        match path.extension().and_then(|kind| kind.to_str()) {
            Some("told") => {
                for line in text.lines() {
                    let line: Value = serde_json::from_str(line).unwrap();
                    evidence.note(line["key"].as_str().unwrap(), line.get("action").cloned());
                }
            }
            Some("ran") => text.lines().for_each(|id| evidence.edge_ran(id)),
            _ => {}
        }
    }
    evidence
}
