//! Letters that a reader does not see.

/// Whether a letter is not seen, ends a line or turns what stands beside it.
///
/// These are the control characters but `\n`, `\r` and `\t`, the separators of lines and paragraphs, the
/// marks of direction (Unicode `Bidi_Control`), and what Unicode calls `Default_Ignorable_Code_Point`,
/// but for the variation selectors that emoji are written with (U+FE00 to U+FE0F).
///
/// ```
/// assert!(model::is_unseen('\u{202e}') && model::is_unseen('\u{2028}'));
/// assert!(!model::is_unseen('é') && !model::is_unseen('\n'));
/// ```
pub fn is_unseen(letter: char) -> bool {
    let is_control = letter.is_control() && !matches!(letter, '\n' | '\r' | '\t');
    is_control
        || matches!(letter, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}'
            | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a letter may stand in a name that people know something by: it is seen, and no name looks
/// like another because of it.
pub fn is_of_name(letter: char) -> bool {
    !letter.is_control()
        && !is_unseen(letter)
        && !matches!(letter, '\u{2800}' | '\u{fe00}'..='\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use super::{is_of_name, is_unseen};

    #[test]
    fn what_is_not_seen_is_told_from_what_is() {
        let unseen = "\0\u{7}\u{1b}\u{7f}\u{85}\u{ad}\u{34f}\u{61c}\u{3164}\u{115f}\u{180e}\u{200b}\u{200d}\u{200e}\
                      \u{2028}\u{2029}\u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{206a}\u{feff}\u{ffa0}\u{fff9}\
                      \u{e0001}\u{e0041}\u{e0100}\u{1d173}";
        for letter in unseen.chars() {
            assert!(is_unseen(letter) && !is_of_name(letter), "U+{:04X}", u32::from(letter));
        }
        for letter in "\n\r\t\u{2800}\u{fe0f}".chars() {
            assert!(!is_unseen(letter) && !is_of_name(letter), "U+{:04X}", u32::from(letter));
        }
        for letter in "aZ0 .,;-_éß€店а☂🙂\u{301}\u{a0}\u{fffd}".chars() {
            assert!(!is_unseen(letter) && is_of_name(letter), "U+{:04X}", u32::from(letter));
        }
    }
}
