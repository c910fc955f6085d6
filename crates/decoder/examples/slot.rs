//! Prints what a slot holds: a line for each transaction, and one for each table in it.
//!
//! Reads from standard input one message a line, in hexadecimal, as psql prints them:
//!
//! ```sh
//! psql --tuples-only --no-align --command "select encode(data, 'hex')
//!     from pg_logical_slot_peek_binary_changes('SLOT', null, null, 'proto_version', '1',
//!         'publication_names', 'PUBLICATION', 'messages', 'true')" \
//! | cargo run -p decoder --example slot
//! ```

use std::{
    error::Error,
    io::{self, BufRead, Write},
};

use decoder::{Assembler, Before, Change, Edit, Frame, Row, Value};

const MAX_IMAGES: usize = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    let mut assembler = Assembler::new(MAX_IMAGES);
    for (at, line) in io::stdin().lock().lines().enumerate() {
        let line = line?;
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let bytes = unhex(&line).ok_or_else(|| format!("line {}: no hexadecimal", at + 1))?;
        let frame = assembler.take(&bytes).map_err(|error| format!("line {}: {error}", at + 1))?;
        if let Some(frame) = frame {
            print(&mut out, &frame)?;
        }
    }
    Ok(assembler.finish()?)
}

fn print(out: &mut impl Write, frame: &Frame) -> io::Result<()> {
    writeln!(
        out,
        "{} transaction {} at {}, {} changes, {} messages, {}",
        frame.commit_lsn,
        frame.xid,
        frame.committed_at,
        frame.change_count,
        frame.message_count,
        frame.digest
    )?;
    for (table, counts) in &frame.counts {
        writeln!(
            out,
            "  {table}: {} new, {} changed, {} deleted, emptied {} times",
            counts.inserts, counts.updates, counts.deletes, counts.truncates
        )?;
    }
    for change in frame.changes.iter().chain(&frame.own_changes) {
        writeln!(out, "    {}", shown(change))?;
    }
    Ok(())
}

fn shown(change: &Change) -> String {
    let row = |row: &Row| {
        let columns = change.relation.columns.iter().map(|column| &column.name);
        let pairs: Vec<_> =
            columns.zip(row).map(|(name, value)| format!("{name}={}", of(value))).collect();
        pairs.join(" ")
    };
    let before = |before: &Before| match before {
        Before::NotTold => "not told".to_owned(),
        Before::Key(key) => format!("key {}", row(key)),
        Before::Full(whole) => row(whole),
    };
    let table = &change.relation.table;
    match &change.edit {
        Edit::Insert { after } => format!("{table} new: {}", row(after)),
        Edit::Update { before: old, after } => {
            format!("{table} was: {} | is: {}", before(old), row(after))
        }
        Edit::Delete { before: old } => format!("{table} was: {}", before(old)),
    }
}

fn of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Text(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        Value::Binary(bytes) => format!("{} bytes", bytes.len()),
        Value::Unresolved => "unchanged, not told".to_owned(),
        Value::NotTold => "not told".to_owned(),
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit =
        |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks_exact(2);
    pairs.remainder().is_empty().then_some(())?;
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(high)? * 16 + digit(low)?),
            _ => None,
        })
        .collect()
}
