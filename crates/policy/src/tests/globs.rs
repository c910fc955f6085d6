//! The pattern matcher against the plainest one there is.

use proptest::prelude::*;

use crate::Glob;

#[test]
fn globs_cover_runs_of_any_characters() {
    let cases = [
        ("crm.*", "crm.a.b", true),
        ("crm.*", "crm.", true),
        ("crm.*", "crm", false),
        ("*.read_*", "pg.read_x", true),
        ("*.read_*", "pg.write", false),
        ("a*b*c", "aXbYbZc", true),
        ("a*bc*c", "abc", false),
        ("ab*ba", "aba", false),
        ("***", "", true),
        ("Crm", "crm", false),
    ];
    for (pattern, name, expected) in cases {
        assert_eq!(Glob::parse(pattern).unwrap().is_match(name), expected, "{pattern} {name}");
    }
    assert!(Glob::parse("").is_err() && Glob::parse("*a*b*c*").is_err());
    assert!(Glob::parse(&"a".repeat(201)).is_err());
    assert_eq!(Glob::parse(r"a_b*50%\x").unwrap().to_like(), r"a\_b%50\%\\x");
}

/// The plainest matcher there is, as the reference.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) if matches(rest, name) => true,
        (Some((b'*', _)), Some((_, after))) => matches(pattern, after),
        (Some((left, rest)), Some((right, after))) => left == right && matches(rest, after),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

proptest! {
    #[test]
    fn the_glob_matcher_agrees_with_the_plain_one(pattern in "[ab*]{1,6}", name in "[ab]{0,8}") {
        if let Ok(glob) = Glob::parse(&pattern) {
            prop_assert_eq!(glob.is_match(&name), matches(pattern.as_bytes(), name.as_bytes()));
        }
    }

    #[test]
    fn covering_and_overlapping_globs_agree_with_the_names(
        left in "[ab*]{1,5}", right in "[ab*]{1,5}", name in "[ab]{0,7}",
    ) {
        if let (Ok(left), Ok(right)) = (Glob::parse(&left), Glob::parse(&right)) {
            let (in_left, in_right) = (left.is_match(&name), right.is_match(&name));
            prop_assert!(!left.covers(&right) || !in_right || in_left);
            prop_assert!(left.overlaps(&right) || !(in_left && in_right));
            prop_assert_eq!(left.overlaps(&right), right.overlaps(&left));
            prop_assert!(left.covers(&left) && (!left.covers(&right) || left.overlaps(&right)));
        }
    }
}
