//! `intent`: keys of agents that sign what they ask for, their signatures, and a look at signers of
//! others. Nothing of it needs the service.

mod conform;

use std::path::Path;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::{Secret, SystemEntropy, ed25519::SigningKey};
use model::{AgentId, Clock};
use serde_json::json;

use crate::{
    cli::Intent,
    clock::SystemClock,
    exit::{Exit, Failure},
    print, secrets,
};

/// Does what was asked.
pub(super) fn run(what: &Intent) -> Result<Exit, Failure> {
    match what {
        Intent::Keygen { agent, out } => keygen(*agent, out),
        Intent::Sign { call, key } => sign(call, key.as_deref()),
        Intent::Conform { cmd } => conform::run(cmd),
    }
}

fn keygen(agent: AgentId, out: &Path) -> Result<Exit, Failure> {
    let seed = Secret::new(URL_SAFE_NO_PAD.encode(secrets::random().expose()));
    let key = intent::key_of_seed(&seed).ok_or_else(|| Failure::internal("no key was created"))?;
    let file = Secret::new(format!("{}\n", seed.expose()));
    secrets::write_new(out, &file).map_err(|error| {
        Failure::usage(format!("could not write a new key file `{}`: {error}", out.display()))
    })?;
    let proof = key.sign(intent::proof_message(&agent.to_string(), key.public()).as_bytes());
    let public = URL_SAFE_NO_PAD.encode(key.public().as_bytes());
    let proof = URL_SAFE_NO_PAD.encode(proof);
    print::line(json!({ "public_key": public, "proof": proof }).to_string());
    Ok(Exit::Ok)
}

fn sign(call: &Path, key: Option<&Path>) -> Result<Exit, Failure> {
    let key = key.map(key_in).transpose()?;
    let now = SystemClock.now();
    let signed = intent::sign_request(&super::input(call)?, key, (now, &SystemEntropy::new()));
    print::line(signed.map_err(Failure::malformed)?);
    Ok(Exit::Ok)
}

fn key_in(file: &Path) -> Result<SigningKey, Failure> {
    let seed = Secret::new(super::read_text(file)?);
    intent::key_of_seed(&Secret::new(seed.expose().trim_end().to_owned())).ok_or_else(|| {
        let expected = "expected the 32 bytes of a key in base64url, as `intent keygen` writes it";
        Failure::malformed(format!("`{}`: {expected}", file.display()))
    })
}

#[cfg(test)]
mod tests;
