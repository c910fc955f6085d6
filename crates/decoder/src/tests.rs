//! The recorded streams, and everything that no server sends.

mod assembling;
mod attributing;
mod mutations;
mod parsing;
mod recorded;

use crate::{Assembler, DecodeError, Frame};

/// Every recorded case by name.
macro_rules! streams {
    ($($name:literal),+ $(,)?) => {
        pub(crate) const STREAMS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../streams/", $name, ".hex")))),+];
    };
}

streams!(
    "cascades",
    "ddl",
    "generated",
    "generated_18",
    "governed",
    "identity_default",
    "identity_index",
    "identity_nothing",
    "invisible",
    "messages",
    "names",
    "origin",
    "partitions",
    "rows",
    "savepoint",
    "toast_default",
    "toast_full",
    "triggers",
    "truncate",
    "types",
);

/// The messages of a recorded case.
pub(crate) fn messages(name: &str) -> Vec<Vec<u8>> {
    let (_, text) = STREAMS.iter().find(|(known, _)| *known == name).expect("a recorded case");
    text.lines().filter(|line| !line.starts_with('#')).map(unhex).collect()
}

/// The number of the database cluster in which a case was recorded.
pub(crate) fn system(name: &str) -> &'static str {
    let (_, text) = STREAMS.iter().find(|(known, _)| *known == name).expect("a recorded case");
    let line = text.lines().next().expect("a first line");
    line.rsplit_once(" system ").expect("a system").1
}

/// The frames of a recorded case.
pub(crate) fn frames(name: &str, max_images: usize) -> Vec<Frame> {
    assembled(&messages(name), max_images).expect("a stream that a server sent")
}

/// The frames of these messages.
pub(crate) fn assembled(
    messages: &[Vec<u8>],
    max_images: usize,
) -> Result<Vec<Frame>, DecodeError> {
    let mut assembler = Assembler::new(max_images);
    let mut frames = vec![];
    for message in messages {
        frames.extend(assembler.take(message)?);
    }
    assembler.finish()?;
    Ok(frames)
}

fn unhex(line: &str) -> Vec<u8> {
    let pairs = line.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex"))
        .collect()
}

#[test]
fn every_recorded_case_is_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/streams");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "hex"))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    found.sort();
    let known: Vec<&str> = STREAMS.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, known);
}
