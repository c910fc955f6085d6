//! Checks the text of API keys against values that were computed elsewhere.

use crypto::Secret;
use model::{Entropy, KeyId, Mint, Timestamp};

use super::{DIGITS, KeyMode, KeyText, KeyTextError, push_base62};

/// Made with Python's zlib and hmac from the largest secret.
const LARGEST: &str =
    "svc_test_01j9zk5m3v8q2t4w6y0a1bcdef_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp13ovvu1";
const LARGEST_MAC: &str = "b20119884fb7f6a73c8fd8c2623fc0750871720f350de22da50e4128e9383712";

struct Filled(u8);

impl Entropy for Filled {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(self.0);
    }
}

fn generate(fill: u8, mode: KeyMode) -> KeyText {
    let id = KeyId::from_body("01j9zk5m3v8q2t4w6y0a1bcdef").unwrap();
    KeyText::generate(&Mint::new(Timestamp::EPOCH, &Filled(fill)), id, mode)
}

fn base62<const N: usize>(number: [u8; N], width: usize) -> String {
    let mut text = String::new();
    push_base62(&mut text, number, width);
    text
}

#[test]
fn a_key_is_the_text_that_another_implementation_makes() {
    assert_eq!(generate(0xff, KeyMode::Test).secret().expose(), LARGEST);
}

#[test]
fn a_key_is_stored_as_the_mac_that_another_implementation_makes() {
    let pepper = Secret::new(vec![b'p'; 32]);
    assert_eq!(KeyText::parse(LARGEST).unwrap().mac(&pepper), LARGEST_MAC);
    assert_ne!(KeyText::parse(LARGEST).unwrap().mac(&Secret::new(vec![b'q'; 32])), LARGEST_MAC);
}

#[test]
fn numbers_have_a_fixed_width_in_base62() {
    assert_eq!(base62([0; 32], 43), "0".repeat(43));
    assert_eq!(base62(u32::MAX.to_be_bytes(), 6), "4gfFC3");
    assert_eq!(base62(0xcbf4_3926_u32.to_be_bytes(), 6), "3jZRME");
    assert_eq!(base62(61_u32.to_be_bytes(), 6), "00000z");
    assert_eq!(base62(62_u32.to_be_bytes(), 6), "000010");
}

#[test]
fn a_key_is_read_back_with_its_id_and_mode() {
    for mode in [KeyMode::Live, KeyMode::Test] {
        let made = generate(0x5a, mode);
        let read = KeyText::parse(made.secret().expose()).unwrap();
        assert_eq!((read.id(), read.mode()), (made.id(), mode));
        assert!(made.secret().expose().ends_with(&read.hint()));
        assert_eq!(read.hint().len(), 4);
    }
}

#[test]
fn every_single_wrong_character_is_told_offline() {
    for place in 0..LARGEST.len() {
        for digit in DIGITS.iter().map(|byte| char::from(*byte)).chain(['_', '-', ' ', 'é']) {
            let mut text: Vec<char> = LARGEST.chars().collect();
            if text[place] == digit {
                continue;
            }
            text[place] = digit;
            let text: String = text.into_iter().collect();
            assert_eq!(KeyText::parse(&text).err(), Some(KeyTextError), "{text}");
        }
    }
}

#[test]
fn swapped_neighbours_are_told_offline() {
    for place in 1..LARGEST.len() {
        let mut text = LARGEST.as_bytes().to_vec();
        text.swap(place - 1, place);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(KeyText::parse(&text).is_err(), text != LARGEST, "{text}");
    }
}

#[test]
fn cut_long_and_foreign_texts_are_no_keys() {
    let live = LARGEST.replace("test", "live");
    let doubled = format!("{LARGEST}{LARGEST}");
    let padded = format!(" {LARGEST}");
    for text in ["", "svc_", "svc_live_", "svc_live__", "sk_live_1", &live, &doubled, &padded] {
        assert_eq!(KeyText::parse(text).err(), Some(KeyTextError), "{text}");
    }
    for length in 0..LARGEST.len() {
        assert!(KeyText::parse(LARGEST.get(..length).unwrap()).is_err());
    }
}

#[test]
fn a_key_does_not_show_itself_in_logs() {
    let shown = format!("{:?}", generate(0xff, KeyMode::Live));
    assert!(!shown.contains("yhjskwd"), "{shown}");
}
