//! A file of private keys is refused or has a key for each purpose, and comments, empty lines and
//! the line ends of another system change nothing.
#![no_main]

use deed::{Purpose, SealKeys, thumbprint};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let public = |text: &str| -> Option<Vec<_>> {
        let keys = SealKeys::from_pem(text).ok()?;
        Some(keys.keys().map(|(purpose, key)| (purpose, thumbprint(key.public()))).collect())
    };
    let Some(keys) = public(text) else { return };
    for purpose in [Purpose::Deed, Purpose::Checkpoint] {
        assert!(keys.iter().any(|(made_for, _)| *made_for == purpose));
    }
    let commented = format!("# a comment\r\n\r\n{}\n# the end", text.replace('\n', "\r\n"));
    assert_eq!(public(&commented), Some(keys));
});
