//! Files with archived deeds: lines of deeds, or the plain dump of a partition. What stands where in a
//! file is noted, and a deed is read when its turn comes, so that a file may be larger than memory.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    rc::Rc,
    str::Utf8Error,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use deed::{ArchivedDeeds, DEED_TYPE, Envelope, LogOrigin, TextError, verify::envelopes};
use serde::Deserialize;

use crate::{exit::Failure, print};

/// The first bytes of a dump that is no text.
const CUSTOM: &[u8] = b"PGDMP";
/// So many bytes of lines are read at once.
const PART: usize = 4 * 1024 * 1024;
/// A line is no longer than this.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The archived deeds that the caller has files of.
#[derive(Default)]
pub(super) struct Archive {
    files: Vec<Source>,
    deeds: HashMap<LogOrigin, BTreeMap<u64, Spot>>,
}

/// A file with archived deeds.
struct Source {
    path: PathBuf,
    file: File,
    is_used: bool,
}

/// Where a deed stands in a file.
struct Spot {
    file: usize,
    start: u64,
    length: usize,
    /// The columns of the dump that it is a row of.
    columns: Option<Rc<Columns>>,
}

/// Where the columns of a table of deeds are in a row of its dump.
struct Columns {
    body: usize,
    key_id: usize,
    signature: usize,
}

/// Why a line of a file is no archived deed.
#[derive(Debug, thiserror::Error)]
enum LineError {
    #[error("{0}")]
    Deed(String),
    #[error("it has {0} deeds")]
    Several(usize),
    #[error("the row has no column `{0}`")]
    Column(&'static str),
    #[error("the row's `signature` is not 64 bytes in hex")]
    Signature,
    #[error("the row's `key_id`: {0}")]
    Key(#[from] TextError),
    #[error(transparent)]
    Text(#[from] Utf8Error),
    #[error("the deed's body: {0}")]
    Body(#[from] serde_json::Error),
}

/// What tells where a deed belongs; the rest of it is checked later.
#[derive(Deserialize)]
struct Place {
    log: LogOrigin,
    seq: u64,
}

impl Archive {
    /// Notes what stands where in these files.
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut archive = Self::default();
        for path in paths {
            let unread = |error: io::Error| {
                Failure::usage(format!("could not read `{}`: {error}", path.display()))
            };
            let file = File::open(path).map_err(unread)?;
            archive.note(path, file).map_err(unread)??;
        }
        Ok(archive)
    }

    fn note(&mut self, path: &Path, file: File) -> io::Result<Result<(), Failure>> {
        let refused = |why: String| Ok(Err(Failure::usage(format!("`{}`: {why}", path.display()))));
        let (number, mut start) = (self.files.len(), 0);
        let (mut columns, mut is_dump) = (None, false);
        let mut found = Vec::new();
        let (mut reader, mut line) = (BufReader::new(file), Vec::new());
        for count in 1_usize.. {
            line.clear();
            let length = reader.by_ref().take(LONGEST + 1).read_until(b'\n', &mut line)?;
            if length == 0 {
                break;
            }
            if length as u64 > LONGEST {
                return refused(format!("line {count} is longer than {LONGEST} bytes"));
            }
            if count == 1 && line.starts_with(CUSTOM) {
                let why = "expected a plain dump; `pg_restore --file - DUMP` writes one of this";
                return refused(why.to_owned());
            }
            if line.starts_with(b"COPY ") {
                columns = Columns::of(&line).map(Rc::new);
            } else if line.trim_ascii_end() == b"\\." {
                columns = None;
            } else if columns.is_some() || !is_dump && line.trim_ascii_start().starts_with(b"{") {
                // Where the file has a table of deeds, it is a dump, and nothing else in it counts.
                if columns.is_some() && !is_dump {
                    (is_dump, found) = (true, Vec::new());
                }
                let spot = Spot { file: number, start, length, columns: columns.clone() };
                found.extend(place(&line, columns.as_deref()).map(|place| (count, place, spot)));
            }
            start += length as u64;
        }
        self.files.push(Source {
            path: path.to_owned(),
            file: reader.into_inner(),
            is_used: false,
        });
        if found.is_empty() {
            let why = "expected lines of deeds, or the plain dump of a table of deeds";
            return refused(why.to_owned());
        }
        for (count, place, spot) in found {
            match place {
                Ok(Place { log, seq }) => {
                    self.deeds.entry(log).or_default().insert(seq, spot);
                }
                Err(error) => return refused(format!("line {count} is no deed: {error}")),
            }
        }
        Ok(Ok(()))
    }

    /// Whether the files have these deeds: all of them, or none.
    pub(super) fn has(&self, archived: &ArchivedDeeds) -> Result<bool, Failure> {
        let ArchivedDeeds { log, from, to, .. } = archived;
        let (had, all) =
            (self.deeds.get(log).map_or(0, |of| of.range(from..to).count()), to - from);
        match had as u64 {
            0 => Ok(false),
            had if had == all => Ok(true),
            had => Err(Failure::usage(format!(
                "the files have {had} of the {all} archived deeds from {from} on; expected all of \
                 them, or none"
            ))),
        }
    }

    /// The deeds that a line stands for, in lines of a few megabytes at a time.
    pub(super) fn read<E: From<Failure>>(
        &mut self,
        archived: &ArchivedDeeds,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { files, deeds } = self;
        let mut text = Vec::new();
        let spots = deeds.get(&archived.log).into_iter();
        for (_, spot) in spots.flat_map(|of| of.range(archived.from..archived.to)) {
            let Some(source) = files.get_mut(spot.file) else { continue };
            spot.line(&mut source.file, &mut text).map_err(|error| {
                Failure::usage(format!("could not read `{}`: {error}", source.path.display()))
            })?;
            source.is_used = true;
            if text.len() >= PART {
                take(&text)?;
                text.clear();
            }
        }
        if text.is_empty() { Ok(()) } else { take(&text) }
    }

    /// Tells of the files that nothing was read of.
    pub(super) fn tell_unused(&self) {
        for Source { path, .. } in self.files.iter().filter(|source| !source.is_used) {
            let path = path.display();
            print::complaint(format!("`{path}` was not used: the log archives none of its deeds"));
        }
    }

    /// The input with the deeds of the files in the place of the lines that stand for them.
    pub(super) fn fill(&mut self, input: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let Some(text) = std::str::from_utf8(&input).ok().filter(|_| !self.files.is_empty()) else {
            return Ok(input);
        };
        let mut filled = Vec::with_capacity(input.len());
        for line in text.split_inclusive('\n') {
            match ArchivedDeeds::read(line) {
                Some(Ok(archived)) if self.has(&archived)? => self.read(&archived, |lines| {
                    filled.extend_from_slice(lines);
                    Ok::<_, Failure>(())
                })?,
                Some(_) | None => filled.extend_from_slice(line.as_bytes()),
            }
        }
        self.tell_unused();
        Ok(filled)
    }
}

impl Spot {
    /// Appends the deed to a text as a line.
    fn line(&self, file: &mut File, text: &mut Vec<u8>) -> io::Result<()> {
        let mut line = vec![0; self.length];
        file.seek(SeekFrom::Start(self.start))?;
        file.read_exact(&mut line)?;
        match &self.columns {
            None => text.extend(line.trim_ascii()),
            Some(columns) => {
                let envelope = columns.envelope(&line).map_err(io::Error::other)?;
                text.extend(serde_json::to_vec(&envelope)?);
            }
        }
        text.push(b'\n');
        Ok(())
    }
}

impl Columns {
    /// The columns that the line says to follow, if it begins the rows of a table of deeds.
    fn of(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?.trim_end();
        let (_, names) =
            line.strip_prefix("COPY ")?.strip_suffix(") FROM stdin;")?.split_once(" (")?;
        let names: Vec<_> = names.split(", ").collect();
        let at = |name| names.iter().position(|named| *named == name);
        Some(Self { body: at("body")?, key_id: at("key_id")?, signature: at("signature")? })
    }

    fn envelope(&self, row: &[u8]) -> Result<Envelope, LineError> {
        let row = std::str::from_utf8(row)?.trim_end_matches(['\r', '\n']);
        let cell =
            |at: usize, name| row.split('\t').nth(at).map(unescaped).ok_or(LineError::Column(name));
        let signature = cell(self.signature, "signature")?;
        let signature =
            signature.strip_prefix("\\x").and_then(bytes).ok_or(LineError::Signature)?;
        let key_id = cell(self.key_id, "key_id")?.parse()?;
        Ok(Envelope::new(DEED_TYPE, &cell(self.body, "body")?, (&key_id, &signature)))
    }
}

/// Where the deed of a line belongs; nothing for a line that stands for archived deeds itself.
fn place(line: &[u8], columns: Option<&Columns>) -> Option<Result<Place, LineError>> {
    let read = || {
        let envelope = match columns {
            Some(columns) => columns.envelope(line)?,
            None => match envelopes(line).map_err(LineError::Deed)?.as_slice() {
                [one] => one.clone(),
                several => return Err(LineError::Several(several.len())),
            },
        };
        let body = STANDARD.decode(envelope.payload).unwrap_or_default();
        Ok(serde_json::from_slice(&body)?)
    };
    let is_archived = columns.is_none()
        && std::str::from_utf8(line).is_ok_and(|line| ArchivedDeeds::read(line).is_some());
    (!is_archived).then(read)
}

/// A cell as it was before `COPY` wrote it (PostgreSQL, `COPY`, text format).
fn unescaped(cell: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(cell.len()), cell.chars());
    while let Some(letter) = rest.next() {
        match letter {
            '\\' => text.extend(rest.next().map(|escaped| match escaped {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\u{b}',
                other => other,
            })),
            plain => text.push(plain),
        }
    }
    text
}

/// The 64 bytes of a signature that is written in hex.
fn bytes(hex: &str) -> Option<[u8; 64]> {
    let digits: Option<Vec<_>> = hex.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits?;
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes: Option<Vec<_>> =
        pairs.iter().map(|[high, low]| u8::try_from(high * 16 + low).ok()).collect();
    if rest.is_empty() { bytes?.try_into().ok() } else { None }
}
