//! What a pattern uses that no linear engine can match.

/// How much of a pattern a message shows.
const MOST_SHOWN: usize = 100;

/// Openings of groups that look at what is around them.
const LOOK_AROUND: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];

/// What the pattern uses that cannot be checked in linear time, as the rest of a sentence about it.
///
/// The constructs are looked for outside of classes and escapes. Whether a pattern is otherwise one
/// that the engine reads, only the engine knows.
pub(crate) fn fault(pattern: &str) -> Option<&'static str> {
    let mut rest = pattern;
    let mut is_in_class = false;
    loop {
        let mut following = rest.chars();
        let character = following.next()?;
        if character == '\\' {
            let escaped = following.next()?;
            if !is_in_class && (matches!(escaped, '1'..='9') || rest.starts_with(r"\k<")) {
                return Some("uses a backreference, which cannot be checked in linear time");
            }
        } else if !is_in_class && LOOK_AROUND.iter().any(|opening| rest.starts_with(opening)) {
            return Some("uses look-around, which cannot be checked in linear time");
        } else if character == '[' {
            is_in_class = true;
        } else if character == ']' {
            is_in_class = false;
        }
        rest = following.as_str();
    }
}

/// The pattern as a message shows it.
pub(crate) fn shown(pattern: &str) -> String {
    pattern.chars().take(MOST_SHOWN).collect()
}
