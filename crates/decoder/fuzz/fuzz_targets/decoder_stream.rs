//! Whatever comes in, there is an answer; what is kept of a transaction agrees with what is
//! counted and digested, at every limit; and without the key nothing is attributed.
#![no_main]

use crypto::Secret;
use decoder::{
    Assembler, DecodeError, Frame, Message,
    attribution::{Claim, MarkerKey, Site},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = Message::parse(data);
    let messages = split(data);
    let (Ok(whole), Ok(bare)) = (frames(&messages, usize::MAX), frames(&messages, 0)) else {
        assert!(frames(&messages, 1).is_err());
        return;
    };
    assert_eq!(whole.len(), bare.len());
    let keys = [MarkerKey::new(Secret::new(vec![9; 32]))];
    let connector = "con_01h2xcejqtf2nbrexx3vqjhp41".parse().expect("an id");
    let site = Site { connector, system: "1", keys: &keys };
    for (whole, bare) in whole.iter().zip(&bare) {
        let counts = whole.counts.values();
        let rows: u64 = counts.map(|one| one.inserts + one.updates + one.deletes).sum();
        assert_eq!(rows, whole.change_count);
        assert!(whole.digest_of_kept().is_none_or(|digest| digest == whole.digest));
        assert!(bare.changes.is_empty());
        assert_eq!((bare.digest, &bare.counts), (whole.digest, &whole.counts));
        assert_eq!((&bare.relations, &bare.own_changes), (&whole.relations, &whole.own_changes));
        let claim = Claim::of(bare, &site);
        assert_eq!(claim, Claim::of(whole, &site));
        assert!(claim.action().is_none() && !matches!(claim, Claim::Service { .. }));
    }
});

/// Messages, each with two bytes of length before it; what is left at the end is one too.
fn split(mut data: &[u8]) -> Vec<&[u8]> {
    let mut messages = vec![];
    while let Some((length, rest)) = data.split_first_chunk::<2>() {
        let end = usize::from(u16::from_be_bytes(*length)).min(rest.len());
        let (message, rest) = rest.split_at(end);
        messages.push(message);
        data = rest;
    }
    messages
}

fn frames(messages: &[&[u8]], max_images: usize) -> Result<Vec<Frame>, DecodeError> {
    let mut assembler = Assembler::new(max_images);
    let mut frames = vec![];
    for message in messages {
        frames.extend(assembler.take(message)?);
    }
    assembler.finish()?;
    Ok(frames)
}
