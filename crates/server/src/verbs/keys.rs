//! `keys`: makes seal keys.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use crypto::{Secret, SystemEntropy};
use deed::SealKeys;

use crate::{
    exit::{Exit, Failure},
    print,
};

pub(super) fn new(out: &Path) -> Result<Exit, Failure> {
    let text = SealKeys::generate_pem(&SystemEntropy::new());
    let keys = SealKeys::from_pem(text.expose()).map_err(Failure::internal)?;
    write_new_secret(out, &text).map_err(|error| {
        Failure::usage(format!("could not write a new seal key file `{}`: {error}", out.display()))
    })?;
    for (purpose, key) in keys.keys() {
        print::line(format!("{:10} {}", purpose.as_str(), deed::thumbprint(key.public())));
    }
    Ok(Exit::Ok)
}

/// Writes a file that only its owner reads; one that is there already is an error.
pub(crate) fn write_new_secret(path: &Path, text: &Secret<String>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.expose().as_bytes())?;
    file.sync_all()
}
