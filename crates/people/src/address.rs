//! The one form of an e-mail address: what a person typed in, so that two spellings of one mailbox
//! are one person, and nothing in it can end a line of a mail's head.

use std::fmt;

/// The most bytes of a whole address (RFC 5321, section 4.5.3.1.3, without the angle brackets).
const MAX_BYTES: usize = 254;
/// The most bytes before the `@` (RFC 5321, section 4.5.3.1.1).
const MAX_LOCAL: usize = 64;

/// A text that is no address which this service writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an e-mail address of at most 254 characters, such as `ada@example.com`")]
pub struct AddressError;

/// An e-mail address in its one form: blanks around it gone, the domain in ASCII (IDNA, UTS 46),
/// all letters small.
///
/// ```
/// use people::Address;
///
/// let typed = Address::parse("  Ada@Bücher.Example ")?;
/// assert_eq!(typed.as_str(), "ada@xn--bcher-kva.example");
/// assert!(Address::parse("ada@example.com\r\nBcc: eve@example.com").is_err());
/// # Ok::<(), people::AddressError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    // Invariant: `local@domain`, ASCII without blanks and controls, no upper case letter.
    text: String,
}

impl Address {
    /// Reads what a person typed.
    ///
    /// Before the `@` stand letters, digits and ``!#$%&'*+-/=?^_`{|}~`` with single dots between
    /// them: quoted and Unicode mailboxes are refused, since mail systems disagree on when two of
    /// them are the same.
    pub fn parse(typed: &str) -> Result<Self, AddressError> {
        let (local, domain) = typed.trim().rsplit_once('@').ok_or(AddressError)?;
        let domain = idna::domain_to_ascii_strict(domain).map_err(|_| AddressError)?;
        let text = format!("{}@{domain}", local.to_ascii_lowercase());
        let fits = text.len() <= MAX_BYTES && is_mailbox(local) && is_host(&domain);
        if fits { Ok(Self { text }) } else { Err(AddressError) }
    }

    /// The address, for an envelope and for a store; no log and no event may have it.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[an address]")
    }
}

/// Whether the text is a dot-atom (RFC 5322, section 3.2.3).
fn is_mailbox(local: &str) -> bool {
    let is_atom = |part: &str| !part.is_empty() && part.bytes().all(is_atom_text);
    local.len() <= MAX_LOCAL && local.split('.').all(is_atom)
}

fn is_atom_text(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte)
}

/// Whether mail can be sent to a host of this name: two labels or more, or `localhost`.
fn is_host(domain: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_long_enough = domain == "localhost" || domain.contains('.');
    // An address in digits (`[127.0.0.1]`, `127.0.0.1`) would reach hosts that no name leads to.
    let is_name =
        domain.rsplit('.').next().is_some_and(|top| !top.bytes().all(|b| b.is_ascii_digit()));
    is_long_enough && is_name && domain.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::{Address, AddressError};

    fn form(typed: &str) -> Result<String, AddressError> {
        Address::parse(typed).map(|address| address.as_str().to_owned())
    }

    #[test]
    fn spellings_of_one_mailbox_are_one_address() {
        for typed in
            ["ada@example.com", " Ada@EXAMPLE.com\n", "ADA@eXample.Com", "ada@ｅxample。com"]
        {
            assert_eq!(form(typed).as_deref(), Ok("ada@example.com"), "{typed:?}");
        }
        for typed in ["x@BÜCHER.example", "x@bücher.example", "x@xn--bcher-kva.example"] {
            assert_eq!(form(typed).as_deref(), Ok("x@xn--bcher-kva.example"), "{typed:?}");
        }
        assert_eq!(form("a.b+c@localhost").as_deref(), Ok("a.b+c@localhost"));
    }

    #[test]
    fn what_could_write_a_head_of_its_own_or_reach_elsewhere_is_no_address() {
        let long = format!("{}@example.com", "a".repeat(65));
        let far = format!("a@{}.com", "b.".repeat(130));
        let typed = [
            "",
            "@",
            "a@",
            "@b.c",
            "a",
            "a@b",
            "a b@c.de",
            "a@b c.de",
            ".a@b.de",
            "a..b@c.de",
            "a@.de",
            "a@b..de",
            "a@-b.de",
            "a@b_c.de",
            "a@127.0.0.1",
            "a@[127.0.0.1]",
            "\"a b\"@c.de",
            "a@b.de\r\nBcc: e@f.gh",
            "a\r\nBcc: x@c.de",
            "a\0@b.de",
            "a@b.de\0",
            "a@b.de, c@d.ef",
            "<a@b.de>",
            "a@b@c.de",
            "ä@b.de",
            "a%00@b\u{202e}.de",
            &long,
            &far,
        ];
        for typed in typed {
            assert_eq!(form(typed), Err(AddressError), "{typed:?}");
        }
    }

    #[test]
    fn an_address_is_not_shown_by_accident() {
        let address = Address::parse("ada@example.com").expect("an address");
        assert!(!format!("{address:?}").contains("ada"));
    }
}
