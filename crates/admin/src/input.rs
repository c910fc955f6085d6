//! What callers may write into the fields of an org, an agent, a key or a connector.

use std::{collections::BTreeMap, time::Duration};

use act::ActError;
use ledger::record::Holder;
use model::{Mode, Scope, Timestamp};

/// The most characters of a description or a note.
const MAX_WORDS: usize = 1_000;
const MAX_LABELS: usize = 32;
const MAX_LABEL_VALUE: usize = 256;
/// The longest life of an org key that ends by itself.
const MAX_ORG_KEY_LIFE: Duration = Duration::from_hours(366 * 24);

/// The name of an agent.
pub(crate) fn agent_name(text: &str) -> Result<String, ActError> {
    let fits = is_word(text, |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
    if fits { Ok(text.to_owned()) } else { Err(ActError::bad_input("name", AGENT_NAME)) }
}

/// The free name of an org, a key or a policy.
pub(crate) fn title(text: &str) -> Result<String, ActError> {
    title_as("name", text)
}

/// The free name of something, given under this member.
pub(crate) fn title_as(param: &'static str, text: &str) -> Result<String, ActError> {
    let fits = (1..=80).contains(&text.chars().count())
        && text.trim() == text
        && text.chars().all(model::is_of_name);
    if fits { Ok(text.to_owned()) } else { Err(ActError::bad_input(param, TITLE)) }
}

/// What a policy is for, in its author's words.
pub(crate) fn description(text: &str) -> Result<String, ActError> {
    words("description", text, 0)
}

/// What the author of a policy version says about it.
pub(crate) fn note(text: &str) -> Result<String, ActError> {
    words("note", text, 1)
}

fn words(param: &'static str, text: &str, least: usize) -> Result<String, ActError> {
    let fits = (least..=MAX_WORDS).contains(&text.chars().count())
        && !text.chars().any(|letter| letter.is_control() && letter != '\n');
    let expected = || format!("{least} to {MAX_WORDS} characters without control characters");
    if fits { Ok(text.to_owned()) } else { Err(ActError::bad_input(param, expected())) }
}

/// The labels of an agent.
pub(crate) fn labels(
    labels: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, ActError> {
    let key_fits = |key: &str| {
        is_word(key, |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.'))
    };
    let value_fits = |value: &str| {
        value.chars().count() <= MAX_LABEL_VALUE && value.chars().all(model::is_of_name)
    };
    let fits = labels.len() <= MAX_LABELS
        && labels.iter().all(|(key, value)| key_fits(key) && value_fits(value));
    if fits { Ok(labels) } else { Err(ActError::bad_input("labels", LABELS)) }
}

/// The IANA name of a time zone, in its own spelling.
pub(crate) fn time_zone(text: &str) -> Result<String, ActError> {
    jiff::tz::TimeZone::get(text)
        .ok()
        .filter(|zone| !zone.is_unknown())
        .and_then(|zone| zone.iana_name().map(str::to_owned))
        .filter(|name| is_place(name))
        .ok_or_else(|| {
            ActError::bad_input("time_zone", "an IANA time zone such as `Europe/Zurich`")
        })
}

/// In which ways the calls of an agent may be run, each once.
pub(crate) fn modes(given: &[Mode]) -> Result<Vec<Mode>, ActError> {
    let modes: Vec<Mode> = Mode::ALL.iter().copied().filter(|mode| given.contains(mode)).collect();
    let fits = !modes.is_empty();
    if fits { Ok(modes) } else { Err(ActError::bad_input("modes", "`gateway`, `proxy` or both")) }
}

/// What a key of this holder may do, each scope once.
pub(crate) fn scopes(holder: Holder, scopes: &[Scope]) -> Result<Vec<Scope>, ActError> {
    let (allowed, expected): (&[Scope], _) = match holder {
        Holder::Agent(_) => {
            (&[Scope::ActionsRead, Scope::ActionsExecute], "`actions:read`, `actions:execute`")
        }
        Holder::Org => (&[Scope::Admin, Scope::AdminRead], "`admin`, `admin:read`"),
    };
    let given: Vec<Scope> =
        allowed.iter().copied().filter(|scope| scopes.contains(scope)).collect();
    if given.is_empty() || !scopes.iter().all(|scope| allowed.contains(scope)) {
        return Err(ActError::bad_input("scopes", format!("one or more of {expected}")));
    }
    Ok(given)
}

/// When a key of this holder ends by itself.
pub(crate) fn expiry(
    holder: Holder,
    expires_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<Option<Timestamp>, ActError> {
    let Some(end) = expires_at else { return Ok(None) };
    let too_late = match holder {
        Holder::Agent(_) => false,
        Holder::Org => end > now + MAX_ORG_KEY_LIFE,
    };
    if end <= now || too_late {
        let expected = match holder {
            Holder::Agent(_) => "a time in the future",
            Holder::Org => "a time in the future, at most one year from now",
        };
        return Err(ActError::bad_input("expires_at", expected));
    }
    Ok(Some(end))
}

/// Whether the name is that of a place or an offset. A folder of zones has others: `Factory` says that
/// nobody chose, `localtime` and `posixrules` are what this machine is set to, and what is below `posix`
/// and `right` are copies, the latter with leap seconds.
fn is_place(name: &str) -> bool {
    !["Factory", "localtime", "posixrules"].contains(&name)
        && !["posix/", "right/"].iter().any(|folder| name.starts_with(folder))
}

fn is_word(text: &str, fits: fn(u8) -> bool) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(fits)
        && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
}

const AGENT_NAME: &str = "1 to 64 characters of `a-z0-9_-`, the first one of `a-z0-9`";
const TITLE: &str = "1 to 80 visible characters (no control, direction or invisible characters) \
    without a space at the beginning or the end";
const LABELS: &str = "at most 32 labels, each with a name of 1 to 64 characters of `a-z0-9_.-` \
    (the first one of `a-z0-9`) and a value of at most 256 visible characters (no control, \
    direction or invisible characters)";

#[cfg(test)]
mod tests;
