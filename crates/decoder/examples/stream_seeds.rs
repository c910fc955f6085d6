//! Writes what the fuzz target begins from: the recorded streams, one file each, with two bytes of
//! length before each message. `cargo xtask fuzz` runs it, from the checkout's root.

use std::{error::Error, fs, path::PathBuf};

const STREAMS: &str = "crates/decoder/streams";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("expected the folder to write to")?;
    let folder = PathBuf::from(folder).join("decoder_stream");
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(STREAMS)? {
        let path = entry?.path();
        if path.extension().is_none_or(|ending| ending != "hex") {
            continue;
        }
        let mut seed = Vec::new();
        for line in fs::read_to_string(&path)?.lines().filter(|line| !line.starts_with('#')) {
            let message = unhex(line).ok_or("a line is no hexadecimal")?;
            seed.extend(u16::try_from(message.len())?.to_be_bytes());
            seed.extend(message);
        }
        fs::write(folder.join(path.file_stem().ok_or("a stream has no name")?), seed)?;
    }
    Ok(())
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
