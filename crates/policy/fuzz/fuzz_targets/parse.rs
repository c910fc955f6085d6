//! Any text is read or refused with placed findings, and never more than about a hundred of them.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(invalid) = policy::parse(text) {
        assert!(!invalid.findings.is_empty() && invalid.findings.len() <= 101);
        assert!(invalid.findings.iter().all(|finding| finding.line >= 1 && finding.column >= 1));
    }
    let _ = policy::read_suite(text);
});
