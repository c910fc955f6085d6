//! A disclosure is refused, or is the text of an array of three whose parts it names.
#![no_main]

use deed::Disclosure;
use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;

fuzz_target!(|text: &str| {
    let Ok(open) = Disclosure::from_text(text.to_owned()) else { return };
    assert_eq!(open.text(), text);
    let (salt, path, _value): (String, String, IgnoredAny) =
        serde_json::from_str(text).expect("an array of three");
    assert_eq!(path, open.path().as_str());
    assert_eq!(text, format!("[\"{salt}\",\"{path}\",{}]", open.value()));
    assert_eq!(salt.len(), 43);
    let opened = open.commitment();
    assert_eq!(opened.commit, crypto::sha256(text));
    assert_eq!(opened.size, open.value().len() as u64);
});
