//! Changes of a text as bytes: what a parser must notice, whatever the text says.

use super::super::random::Random;

/// Characters and bytes that parsers differ about.
const PIECES: &[&[u8]] = &[
    b" ",
    b"\t",
    b"\r",
    b"\n",
    b"\n\n",
    b"\0",
    b"\x0b",
    b"\x1f",
    b"\x7f",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    "\u{85}".as_bytes(),
    "\u{a0}".as_bytes(),
    "\u{feff}".as_bytes(),
    "\u{2028}".as_bytes(),
    "\u{e9}".as_bytes(),
    "\u{1f600}".as_bytes(),
    b"\\u0000",
    b"\\ud800",
    b"\\udc00\\ud800",
    b"\\ud83d\\ude00",
    b"\\u0041",
    b"\\/",
    b"\\x41",
    b"'",
    b"\"",
    b"\\",
    b",",
    b":",
    b"{",
    b"}",
    b"[",
    b"]",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"null",
    b"NaN",
    b"-Infinity",
    b"//",
    b"/**/",
    b"=",
    b"==",
    b"+",
    b"-",
    b"_",
    b"A",
    b"0",
    b"1",
];

/// Other spellings of numbers, and numbers at the edges.
const NUMBERS: &[&str] = &[
    "-0",
    "0.0",
    "1.0",
    "1e0",
    "1E+2",
    "0e-7",
    "-0.0",
    "01",
    "+1",
    ".5",
    "1.",
    "0x1",
    "1_0",
    "1e400",
    "-1e400",
    "1e-400",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740991",
    "-9007199254740992",
    "9007199254740991.0",
    "9007199254740991e0",
    "18446744073709551615",
    "18446744073709551616",
    "1.5",
    "123456789012345678901234567890",
    "4294967295",
    "4294967296",
];

/// Changes the text in one to three ways.
pub(super) fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        if bytes.is_empty() {
            return;
        }
        match random.below(10) {
            0 => {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            1 => drop(bytes.remove(random.below(bytes.len()))),
            2 => bytes.truncate(random.below(bytes.len())),
            3 | 4 => {
                let at = random.below(bytes.len() + 1);
                bytes.splice(at..at, random.pick(PIECES).iter().copied());
            }
            5 => lines(bytes, random),
            6 => number(bytes, random),
            7 => twice(bytes, random),
            8 => escaped(bytes, random),
            _ => {
                let from = random.below(bytes.len());
                let to = (from + 1 + random.below(40)).min(bytes.len());
                let piece = bytes[from..to].to_vec();
                let at = random.below(bytes.len() + 1);
                bytes.splice(at..at, piece);
            }
        }
    }
}

/// Leaves out, repeats, exchanges or spaces lines.
fn lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<_> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(5) {
        0 => drop(lines.remove(one)),
        1 => lines.insert(other, lines[one].clone()),
        2 => lines.swap(one, other),
        3 => lines[one].extend(*random.pick(&[b" ".as_slice(), b"\r", b"\t", b",", b"\xc2\x85"])),
        _ => {
            let blank = [
                b"".as_slice(),
                b"  ",
                b" \t\r",
                b"\xc2\x85",
                b"\xc2\xa0",
                b"\x0b",
                b"\xef\xbb\xbf",
            ];
            lines.insert(one, random.pick(&blank).to_vec());
        }
    }
    *bytes = lines.join(b"\n".as_slice());
}

/// Spells a number otherwise.
fn number(bytes: &mut Vec<u8>, random: &mut Random) {
    let digit = |place: &usize| {
        let before = place.checked_sub(1).map_or(b' ', |before| bytes[before]);
        bytes[*place].is_ascii_digit() && matches!(before, b':' | b',' | b'[')
    };
    let places: Vec<_> = (0..bytes.len()).filter(digit).collect();
    if !places.is_empty() {
        let from = *random.pick(&places);
        let digits = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let own = String::from_utf8_lossy(&bytes[from..from + digits]).into_owned();
        let new = match random.below(3) {
            0 => format!("{own}{}", random.pick(&[".0", "e0", "E+00", ".00000000000000001", "0"])),
            _ => (*random.pick(NUMBERS)).to_owned(),
        };
        bytes.splice(from..from + digits, new.into_bytes());
    }
}

/// Names a member twice.
fn twice(bytes: &mut Vec<u8>, random: &mut Random) {
    let places: Vec<_> =
        (0..bytes.len()).filter(|place| bytes[*place..].starts_with(b"{\"")).collect();
    if !places.is_empty() {
        let at = *random.pick(&places) + 1;
        let name = bytes[at + 1..].split(|byte| *byte == b'"').next().unwrap_or_default().to_vec();
        let value = *random.pick(&[b"null".as_slice(), b"\"\"", b"0", b"{}"]);
        let member = [b"\"", name.as_slice(), b"\":", value, b","].concat();
        bytes.splice(at..at, member);
    }
}

/// Writes a letter as an escape.
fn escaped(bytes: &mut Vec<u8>, random: &mut Random) {
    let places: Vec<_> =
        (0..bytes.len()).filter(|place| bytes[*place].is_ascii_alphanumeric()).collect();
    if !places.is_empty() {
        let at = *random.pick(&places);
        bytes.splice(at..=at, format!("\\u{:04x}", bytes[at]).into_bytes());
    }
}
