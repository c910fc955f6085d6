//! Texts that must not be shown, searched for in every form that they may be written in.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use serde_json::json;

/// Something that must not be told, by name.
pub type Canary = (String, String);

/// Every form in which the text may stand inside of another.
pub fn forms(text: &str) -> Vec<(&'static str, String)> {
    let bytes = text.as_bytes();
    let hex = |upper: bool| {
        let byte = |byte: &u8| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
        bytes.iter().map(byte).collect::<String>()
    };
    let percent: String = bytes
        .iter()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(*byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect();
    let escaped = json!(text).to_string();
    let debug = format!("{text:?}");
    let mut forms = vec![
        ("raw", text.to_owned()),
        ("JSON", escaped.trim_matches('"').to_owned()),
        ("debug", debug.trim_matches('"').to_owned()),
        ("bytes", format!("{bytes:?}").trim_matches(['[', ']']).to_owned()),
        ("percent", percent),
        ("hex", hex(false)),
        ("HEX", hex(true)),
    ];
    // Inside of a longer text base64 has three alignments; what its neighbours change is left out.
    for before in 0..3 {
        let padded = [vec![0; before].as_slice(), bytes].concat();
        let (first, end) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
        let own = |text: String| text.get(first..end).unwrap().to_owned();
        forms.push(("base64", own(STANDARD_NO_PAD.encode(&padded))));
        forms.push(("base64url", own(URL_SAFE_NO_PAD.encode(&padded))));
    }
    forms
}

/// Fails if a canary stands in the text in any form.
pub fn assert_untold(place: &str, text: &str, canaries: &[Canary]) {
    for (name, canary) in canaries {
        for (form, written) in forms(canary) {
            let at = text.find(&written);
            let line = at.map(|at| text.split_at(at).0.lines().count());
            assert!(at.is_none(), "{name} is told as {form} in {place}, line {line:?}");
        }
    }
}
