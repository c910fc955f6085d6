//! Makes secrets and keeps them in files that only their owner reads.

use std::{
    fmt::Write as _,
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use crypto::{Secret, SystemEntropy};
use model::Entropy;

/// A new key: 32 random bytes in base64.
pub(crate) fn random_key() -> Secret<String> {
    Secret::new(STANDARD.encode(random().expose()))
}

/// A new password: 32 random bytes in hex, which needs no escaping anywhere.
pub(crate) fn random_password() -> Secret<String> {
    let hex = random().expose().iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    Secret::new(hex)
}

/// 32 random bytes.
pub(crate) fn random() -> Secret<[u8; 32]> {
    let mut bytes = [0; 32];
    SystemEntropy::new().fill(&mut bytes);
    Secret::new(bytes)
}

/// Writes a file that only its owner reads; one that is there already is an error.
pub(crate) fn write_new(path: &Path, text: &Secret<String>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.expose().as_bytes())?;
    file.sync_all()
}

/// Writes a file that only its owner reads, in the place of one that may be there.
pub(crate) fn replace(path: &Path, text: &Secret<String>) -> io::Result<()> {
    let draft = path.with_extension("draft");
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    write_new(&draft, text)?;
    fs::rename(&draft, path)
}
