//! What only a mailbox or a browser knows. Nothing of it is stored: links and codes follow from a
//! challenge's id and salt under the pepper, and tokens are known by their MAC.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::{Secret, hmac_sha256};
use model::{ChallengeId, InviteId, Mint, OrgId};

use crate::store::Mac;

/// Crockford's digits: none looks like another.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// 40 bits, of which five tries are given.
const CODE_LEN: usize = 8;

/// What a MAC is about; two of them never agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    Link,
    Code,
    Browser,
    Session,
    Csrf,
    Address,
    Network,
    Invitation,
    Question,
}

impl About {
    const fn word(self) -> &'static str {
        match self {
            Self::Link => "people:link:v1:",
            Self::Code => "people:code:v1:",
            Self::Browser => "people:browser:v1:",
            Self::Session => "people:session:v1:",
            Self::Csrf => "people:csrf:v1:",
            Self::Address => "people:address:v1:",
            Self::Network => "people:network:v1:",
            Self::Invitation => "people:invitation:v1:",
            Self::Question => "people:question:v1:",
        }
    }
}

/// The pepper, and what follows from it.
#[derive(Debug, Clone)]
pub(crate) struct Pepper(pub(crate) Secret<Vec<u8>>);

impl Pepper {
    pub(crate) fn mac(&self, about: About, of: &[u8]) -> Mac {
        let text = [about.word().as_bytes(), of].concat();
        hmac_sha256(self.0.expose(), &text)
    }

    /// The MAC as text, where it is a secret itself.
    pub(crate) fn text(&self, about: About, of: &[u8]) -> Secret<String> {
        Secret::new(URL_SAFE_NO_PAD.encode(self.mac(about, of)))
    }

    /// What stands behind `t=` in a link: the challenge, a dot, and 256 bits.
    pub(crate) fn link(&self, id: ChallengeId, salt: &[u8; 16]) -> Secret<String> {
        let token = self.text(About::Link, &challenge(id, salt));
        Secret::new(format!("{id}.{}", token.expose()))
    }

    /// What stands behind `invite=` in a link: the org and the invitation, and 256 bits.
    ///
    /// It needs no salt: without the pepper nobody can make it for ids that they know.
    pub(crate) fn invitation(&self, org: OrgId, id: InviteId) -> Secret<String> {
        let of = format!("{org}.{id}");
        let token = self.text(About::Invitation, of.as_bytes());
        Secret::new(format!("{of}.{}", token.expose()))
    }

    /// The code of a challenge, without the hyphen of its displayed form.
    pub(crate) fn code(&self, id: ChallengeId, salt: &[u8; 16]) -> Secret<String> {
        let mac = self.mac(About::Code, &challenge(id, salt));
        // 256 is a multiple of 32, so each digit is as likely as any other.
        let digit = |byte: &u8| DIGITS.get(usize::from(byte % 32)).copied().map(char::from);
        Secret::new(mac.iter().take(CODE_LEN).filter_map(digit).collect())
    }
}

fn challenge(id: ChallengeId, salt: &[u8; 16]) -> Vec<u8> {
    [&id.as_uuid().as_bytes()[..], salt].concat()
}

/// A new token of 256 bits.
pub(crate) fn token(mint: &Mint<'_>) -> Secret<String> {
    Secret::new(URL_SAFE_NO_PAD.encode(mint.bytes::<32>()))
}

/// Whether this may be a token of ours.
pub(crate) fn is_token(text: &Secret<String>) -> bool {
    URL_SAFE_NO_PAD.decode(text.expose()).is_ok_and(|bytes| bytes.len() == 32)
}

/// The displayed form of a code: two groups of four.
pub(crate) fn format_code(code: &Secret<String>) -> Secret<String> {
    let (left, right) = code.expose().split_at_checked(CODE_LEN / 2).unwrap_or_default();
    Secret::new(format!("{left}-{right}"))
}

/// The code that a person typed, as it was made: blanks and hyphens mean nothing, small letters
/// and those that look like digits are what they were taken for.
pub(crate) fn normalize_code(code: &str) -> Secret<String> {
    let meant = |sign: char| match sign.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        sign => sign,
    };
    let signs = code.chars().take(64).filter(|sign| !sign.is_whitespace() && *sign != '-');
    Secret::new(signs.map(meant).collect())
}

#[cfg(test)]
mod tests {
    use super::{About, Pepper, format_code, normalize_code};
    use crypto::Secret;
    use model::{ChallengeId, Uuid};

    fn pepper() -> Pepper {
        Pepper(Secret::new(b"a pepper of thirty-two bytes ...".to_vec()))
    }

    fn id(body: u128) -> ChallengeId {
        ChallengeId::from_uuid(Uuid::from_u128(body))
    }

    #[test]
    fn a_code_has_eight_digits_and_is_read_however_it_is_typed() {
        let code = pepper().code(id(1), &[7; 16]);
        assert_eq!(code.expose().len(), 8);
        let shown = format_code(&code);
        for typed_as in [
            shown.expose().clone(),
            shown.expose().to_lowercase(),
            format!(" {} ", code.expose()),
            code.expose().replace('0', "o").replace('1', "l"),
        ] {
            assert_eq!(normalize_code(&typed_as).expose(), code.expose(), "{typed_as}");
        }
    }

    #[test]
    fn links_and_codes_follow_from_all_they_are_made_of() {
        let one = pepper().link(id(1), &[7; 16]);
        assert_eq!(one, pepper().link(id(1), &[7; 16]));
        assert_ne!(one, pepper().link(id(1), &[8; 16]));
        assert_ne!(one, pepper().link(id(2), &[7; 16]));
        let other = Pepper(Secret::new(b"another pepper".to_vec()));
        assert_ne!(one, other.link(id(1), &[7; 16]));
        assert_ne!(pepper().mac(About::Browser, b"x"), pepper().mac(About::Session, b"x"));
    }
}
