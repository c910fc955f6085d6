//! The files that pages load, below `web/assets`. Each is served under a name that begins with the
//! digest of what is in it, so that a browser keeps it for good and never has an old one.

use std::{io::Write as _, sync::LazyLock};

use crypto::sha256;
use flate2::{Compression, write::GzEncoder};
use minijinja::{Environment, Error, ErrorKind, State, Value};

/// A file.
#[derive(Debug)]
pub struct Asset {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub media_type: &'static str,
    /// What is in it.
    pub bytes: &'static [u8],
    /// The same, compressed.
    pub gzip: Vec<u8>,
    /// The first half of its digest, in hexadecimal digits.
    pub digest: String,
}

/// A row for each file.
macro_rules! files {
    ($(($name:literal, $media_type:literal)),* $(,)?) => {
        const FILES: &[(&str, &str, &[u8])] = &[$((
            $name,
            $media_type,
            include_bytes!(concat!("../../../web/assets/", $name)),
        )),*];
    };
}

files![
    ("chancery.css", "text/css; charset=utf-8"),
    ("console.js", "text/javascript; charset=utf-8"),
    ("editor.js", "text/javascript; charset=utf-8"),
    ("live.js", "text/javascript; charset=utf-8"),
    ("palette.js", "text/javascript; charset=utf-8"),
    ("verify.js", "text/javascript; charset=utf-8"),
    ("seal.svg", "image/svg+xml"),
];

/// Every file, compressed once.
static ASSETS: LazyLock<Vec<Asset>> =
    LazyLock::new(|| {
        let asset = |&(name, media_type, bytes): &(&'static str, &'static str, &'static [u8])| {
            Asset { name, media_type, bytes, gzip: compressed(bytes), digest: short_digest(bytes) }
        };
        FILES.iter().map(asset).collect()
    });

/// The file that is served under this name, which begins with its digest: one with another digest is
/// another file.
pub fn find(served_as: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.served_as() == served_as)
}

/// What a file is served as.
pub fn served_as(name: &str) -> Option<String> {
    ASSETS.iter().find(|asset| asset.name == name).map(Asset::served_as)
}

impl Asset {
    fn served_as(&self) -> String {
        format!("{}-{}", self.digest, self.name)
    }
}

pub(crate) fn add_to(templates: &mut Environment<'_>) {
    templates.add_function("asset", address);
}

/// The address of a file, below the area of the page that loads it.
fn address(state: &State<'_, '_>, name: &str) -> Result<Value, Error> {
    let unknown = || Error::new(ErrorKind::InvalidOperation, format!("no file is `{name}`"));
    let file = served_as(name).ok_or_else(unknown)?;
    let area = state.lookup("area").ok_or_else(unknown)?;
    Ok(Value::from_safe_string(format!("/{area}/assets/{file}")))
}

/// Writing into memory does not fail; were it to, the file would go out as it is.
fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

fn short_digest(bytes: &[u8]) -> String {
    let digest = sha256(bytes).to_string();
    let hex = digest.rsplit(':').next().unwrap_or_default();
    hex.chars().take(16).collect()
}
