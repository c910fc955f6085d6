//! How a person comes into the demo: one link, and the codes of the mails in its outbox, which are
//! printed at the terminal, since nobody reads that outbox.

use std::{collections::BTreeSet, fs, path::PathBuf, time::Duration};

use admin::ChangeError;
use model::{OrgId, causes};
use people::{Address, invitation_link};

use crate::{
    exit::Failure,
    print,
    settings::Settings,
    verbs::{failure, owner::invited},
    wire_up::Wired,
};

/// Whom the demo's mails are for.
pub(super) const OWNER: &str = "you@demo.localhost";
/// How often the outbox is looked at.
const LOOK: Duration = Duration::from_millis(300);
/// How far a mail's line with the code reaches.
const CODE: usize = "AAAA-AAAA".len();

/// The link by which the owner comes in: the invitation until it was accepted, and the sign-in from
/// then on. It carries the owner's address.
pub(super) async fn link(
    wired: &Wired,
    settings: &Settings,
    org: OrgId,
) -> Result<String, Failure> {
    let address = Address::parse(OWNER).map_err(Failure::internal)?;
    let met = wired.people.find_or_create_person(&address).await;
    let user = met.map_err(|error| Failure::internal(causes(&error)))?;
    let base = settings.base_url.as_str();
    match invited(wired, org, user).await {
        Ok(invite) => {
            let token = wired.people.invitation(org, invite.id);
            Ok(format!("{}&email={OWNER}", invitation_link(base, &token).expose()))
        }
        Err(ChangeError::AlreadyMember) => {
            Ok(format!("{}/login?email={OWNER}", base.trim_end_matches('/')))
        }
        Err(error) => Err(failure(&error)),
    }
}

/// The link, leading on to the page of this approval.
pub(super) fn to_approval(link: &str, approval: &str) -> String {
    format!("{link}&next=/app/approvals/{approval}")
}

/// Prints the codes of sign-ins as their mails come, until it is dropped.
pub(super) async fn print_codes(outbox: PathBuf) {
    let mut told = letters(&outbox);
    loop {
        tokio::time::sleep(LOOK).await;
        for letter in letters(&outbox).difference(&told.clone()) {
            told.insert(letter.clone());
            let text = fs::read_to_string(letter).unwrap_or_default();
            if let Some(code) = code(&text) {
                print::line(format!("Your sign-in code: {code}"));
            }
        }
    }
}

fn letters(outbox: &PathBuf) -> BTreeSet<PathBuf> {
    let files = fs::read_dir(outbox).into_iter().flatten().flatten().map(|file| file.path());
    files.filter(|path| path.extension().is_some_and(|kind| kind == "eml")).collect()
}

/// The code that stands on a line of its own in a mail about a sign-in.
fn code(letter: &str) -> Option<&str> {
    let is_code = |line: &&str| {
        line.len() == CODE
            && line.bytes().enumerate().all(|(place, byte)| match place {
                4 => byte == b'-',
                _ => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            })
    };
    letter.lines().map(str::trim).find(is_code)
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn a_code_is_what_stands_alone_on_its_line() {
        assert_eq!(code("Your code:\r\n\r\n  7GK4-QX2M\r\n"), Some("7GK4-QX2M"));
        for text in ["the code is 7GK4-QX2M.", "7gk4-qx2m", "7GK4QX2M1", "-------- ", ""] {
            assert_eq!(code(text), None, "{text}");
        }
    }
}
