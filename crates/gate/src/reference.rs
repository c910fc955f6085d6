//! Whom a reference names: the text with which an agent says for whom it acts
//! (`Service-On-Behalf-Of`).
//!
//! The agent chooses the form, and a member whom the text names may be excluded from deciding. So every
//! name that stands in it counts, whatever stands around it: `mailto:Ada@example.com`,
//! `<ada@example.com>;`, `user/MEM_…`, `ada%40example.com`. A text that names somebody too many
//! excludes one person more; one that names somebody too few would let them decide about themselves.

use std::collections::BTreeSet;

use ledger::record::Action;
use model::{MemberId, UserId};

/// The length of an id: the kind, an underscore and the body.
const ID_LEN: usize = MemberId::PREFIX.len() + 27;
/// The most bytes before the `@` of an address (RFC 5321, section 4.5.3.1.1).
const MAX_LOCAL: usize = 64;
/// How many layers of percent-encoding are read each by itself, before what is left of all of them.
const LAYERS: usize = 3;

/// The names that stand in a reference.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reference {
    pub(crate) members: BTreeSet<MemberId>,
    pub(crate) users: BTreeSet<UserId>,
    /// Addresses in their one form. Where several may be meant, all of them.
    pub(crate) addresses: BTreeSet<String>,
}

impl Reference {
    /// The names for whom the agent says that it acts in this action.
    pub fn of(action: &Action) -> Self {
        action.on_behalf_of.as_deref().map(Self::parse).unwrap_or_default()
    }

    /// Reads the names out of a text.
    pub(crate) fn parse(text: &str) -> Self {
        let mut names = Self::default();
        for reading in readings(text) {
            names.read_ids(&reading);
            names.read_addresses(&reading);
        }
        names
    }

    /// Whether this id or address stands in it.
    pub(crate) fn has(&self, name: &str) -> bool {
        if let Ok(id) = name.parse() {
            return self.members.contains(&id);
        }
        if let Ok(id) = name.parse() {
            return self.users.contains(&id);
        }
        self.addresses.contains(&name.to_ascii_lowercase())
    }

    fn read_ids(&mut self, text: &str) {
        for (at, _) in text.match_indices('_') {
            let start = at.checked_sub(MemberId::PREFIX.len());
            let Some(id) = start.and_then(|start| text.get(start..start + ID_LEN)) else {
                continue;
            };
            self.members.extend(id.parse::<MemberId>());
            self.users.extend(id.parse::<UserId>());
        }
    }

    fn read_addresses(&mut self, text: &str) {
        let parts: Vec<&str> = text.split('@').collect();
        for pair in parts.windows(2) {
            let &[before, behind] = pair else { continue };
            let domains: BTreeSet<String> = domains(behind).collect();
            for mailbox in mailboxes(before) {
                self.addresses.extend(domains.iter().map(|domain| format!("{mailbox}@{domain}")));
            }
        }
    }
}

/// The text in small letters: as it is, with each of the first layers of percent-encoding taken off
/// (RFC 3986, section 2.1), and with all of them.
fn readings(text: &str) -> Vec<String> {
    let mut readings = vec![text.to_lowercase()];
    let mut text = text.to_lowercase();
    loop {
        let decoded = decoded(&text);
        // A layer less is a shorter text, so this ends.
        if decoded == text {
            return readings;
        }
        if readings.len() > LAYERS {
            readings.pop();
        }
        readings.push(decoded.clone());
        text = decoded;
    }
}

/// Takes one layer of percent-encoding off.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let (byte, behind) = encoded(rest).unwrap_or((*first, behind));
        bytes.push(byte);
        rest = behind;
    }
    String::from_utf8_lossy(&bytes).to_lowercase()
}

/// The byte that is encoded at the start of a text, and what stands behind it.
fn encoded(text: &[u8]) -> Option<(u8, &[u8])> {
    let [b'%', high, low, behind @ ..] = text else { return None };
    Some((digit(*high)? << 4 | digit(*low)?, behind))
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// What may be meant before an `@`: with quotes or brackets around it and without, with each beginning
/// and without, with its tags (RFC 5233) and without.
fn mailboxes(before: &str) -> impl Iterator<Item = &str> {
    let bare = before.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
    let written = [before, bare].into_iter().filter_map(|text| text.rsplit(is_not_local).next());
    let ends = written.flat_map(|text| {
        let is_separator = |letter: char| !letter.is_ascii_alphanumeric();
        std::iter::successors(Some(text), move |text| Some(text.split_once(is_separator)?.1))
    });
    let tagged = |name| {
        let first = str::split_once(name, '+').map(|(mailbox, _)| mailbox);
        let last = str::rsplit_once(name, '+').map(|(mailbox, _)| mailbox);
        [Some(name), first, last].into_iter().flatten()
    };
    ends.flat_map(tagged).filter(|name| (1..=MAX_LOCAL).contains(&name.len()))
}

/// What may be meant behind an `@`, as IDNA writes it: all of it, and up to a `-` behind the last dot,
/// since no domain that is in use ends in one.
fn domains(behind: &str) -> impl Iterator<Item = String> {
    let behind = behind.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    let whole = behind.split(|letter| !is_of_domain(letter)).next().unwrap_or_default();
    let whole = whole.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    let top = whole.rfind(is_dot).unwrap_or_default();
    let cut = whole.get(top..).and_then(|top| top.find('-')).and_then(|at| whole.get(..top + at));
    let written = [Some(whole), cut].into_iter().flatten();
    written.filter_map(|domain| idna::domain_to_ascii(domain).ok()).filter(|it| !it.is_empty())
}

/// Letters that the part before the `@` does not have (RFC 5322, section 3.2.3), but for the dots.
fn is_not_local(letter: char) -> bool {
    !(letter.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(letter))
}

fn is_of_domain(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '-' || is_dot(letter)
}

/// The dots that IDNA takes for one (UTS 46).
fn is_dot(letter: char) -> bool {
    matches!(letter, '.' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}')
}

#[cfg(test)]
mod tests {
    use model::{MemberId, UserId, Uuid};

    use super::{LAYERS, Reference, decoded, readings};

    const ADA: &str = "ada@example.com";

    fn names(text: &str) -> bool {
        Reference::parse(text).has(ADA)
    }

    #[test]
    fn an_address_is_found_whatever_stands_around_it() {
        for text in [
            "ada@example.com",
            "ADA@Example.COM",
            "member:ada@example.com",
            "user:ada@example.com",
            "mailto:ada@example.com",
            "mailto:ada@example.com?subject=x",
            "acct:ada@example.com",
            "https://id.example/ada@example.com/profile",
            "user/ada@example.com",
            "on-behalf-of-ada@example.com",
            "email=ada@example.com",
            "<ada@example.com>",
            "Ada<ada@example.com>",
            "\"ada@example.com\"",
            "\"ada\"@example.com",
            "'ada@example.com'",
            "'ada'@example.com",
            "{ada}@example.com",
            "(ada)@[example.com]",
            "ada%20@%20example.com",
            "(ada@example.com)",
            "[ada@example.com]",
            "{ada@example.com}",
            "ada@example.com.",
            "ada@example.com..",
            "ada@example.com,",
            "ada@example.com;",
            "ada@example.com-order-7",
            "user-ada@example.com-prod",
            "ada@example.com;bob@example.com",
            "bob@example.com,ada@example.com",
            "bob@example.com@ada@example.com",
            "ada+refunds@example.com",
            "ada+a+b@example.com",
            "ada%EF%BC%8E@example%E3%80%82com",
            "mailto:ada+x@example.com",
            "ada%40example.com",
            "ada%2540example.com",
            "ada%25252525252540example.com",
            "%61%64%61%40example%2Ecom",
            "%41da@example.com",
            "ada@example.com%2Fx",
            "ada@example.com\"x",
            "\"ada@example.com\"@id.example",
        ] {
            assert!(names(text), "{text}");
        }
    }

    #[test]
    fn another_address_is_another_name() {
        for text in [
            "",
            "ada",
            "@example.com",
            "ada@",
            "ada@example",
            "ada@example.com.evil.example",
            "ada@example.comx",
            "ada@example.com-x.example",
            "ada@other.example",
            "xada@example.com",
            "adam@example.com",
            "ada%20example.com",
            "ada.lovelace@example.com",
            "order-1044",
        ] {
            assert!(!names(text), "{text}");
        }
    }

    #[test]
    fn an_id_is_found_whatever_stands_around_it() {
        let member = MemberId::from_uuid(Uuid::max());
        let user = UserId::from_uuid(Uuid::from_u128(7));
        for (of_member, of_user) in [
            (member.to_string(), user.to_string()),
            (member.to_string().to_uppercase(), user.to_string().to_uppercase()),
            (format!("member:{member}"), format!("user:{user}")),
            (format!("<{member}>"), format!("\"{user}\",")),
            (format!("id_{member}_x"), format!("x{user}x")),
            (member.to_string().replace('_', "%5F"), user.to_string().replace('_', "%255f")),
        ] {
            assert_eq!(Reference::parse(&of_member).members.first(), Some(&member), "{of_member}");
            assert_eq!(Reference::parse(&of_user).users.first(), Some(&user), "{of_user}");
            let both = Reference::parse(&format!("{of_member};{of_user}"));
            assert!(both.members.contains(&member) && both.users.contains(&user), "{both:?}");
        }
        let cut = &member.to_string();
        let cut = cut.strip_suffix(char::is_alphanumeric).unwrap();
        for text in ["mem_", "_", "____", cut, "agt_7zzzzzzzzzzzzzzzzzzzzzzzzz"] {
            assert_eq!(Reference::parse(text), Reference::default(), "{text}");
        }
    }

    #[test]
    fn a_domain_is_read_in_its_one_form_and_a_tag_of_ones_own_is_part_of_it() {
        let has = |text: &str, address: &str| Reference::parse(text).has(address);
        for text in ["ada@xn--bcher-kva.example", "mailto:Ada@B%C3%9Ccher.example"] {
            assert!(has(text, "ada@xn--bcher-kva.example"), "{text}");
        }
        for text in
            ["ada+work@example.com", "ada+work+x@example.com", "mailto:ada+work@example.com"]
        {
            assert!(has(text, "ada+work@example.com"), "{text}");
        }
        assert!(!has("ada@example.com", "ada+work@example.com"));
    }

    #[test]
    fn a_text_of_any_shape_is_read_with_few_names() {
        let layers = format!("%{}41{}@{}@b", "25".repeat(60), "-".repeat(63), "-".repeat(60));
        for text in [
            "-".repeat(255) + "@",
            "a@".repeat(128),
            "%25".repeat(85),
            "%".repeat(256),
            "+-".repeat(126) + "@b.c",
            "+a".repeat(100) + "@b.c" + &"-d".repeat(26),
            "é@é_ü%C3%A9@x".to_owned(),
            "%ff%fe_%c3@%e2%82".to_owned(),
            layers,
        ] {
            let found = Reference::parse(&text);
            assert!(found.addresses.len() <= 500, "{text}: {}", found.addresses.len());
            assert!(readings(&text).len() <= LAYERS + 1, "{text}");
        }
        assert_eq!(decoded("%4"), "%4");
        assert_eq!(decoded("%zz%+1%41"), "%zz%+1a");
    }
}
