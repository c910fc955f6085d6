//! `keys`: makes seal keys.

use std::path::Path;

use crypto::SystemEntropy;
use deed::SealKeys;

use crate::{
    exit::{Exit, Failure},
    print, secrets,
};

pub(super) fn new(out: &Path) -> Result<Exit, Failure> {
    let text = SealKeys::generate_pem(&SystemEntropy::new());
    let keys = SealKeys::from_pem(text.expose()).map_err(Failure::internal)?;
    secrets::write_new(out, &text).map_err(|error| {
        Failure::usage(format!("could not write a new seal key file `{}`: {error}", out.display()))
    })?;
    for (purpose, key) in keys.keys() {
        print::line(format!("{:10} {}", purpose.as_str(), deed::thumbprint(key.public())));
    }
    Ok(Exit::Ok)
}
