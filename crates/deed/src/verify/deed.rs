//! The checks of one deed by itself: its bytes, its claims, its signature, its disclosures.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::{
    Link,
    checks::{CheckId, Checks, ensure},
    input::Item,
};
use crate::{
    body::{Body, BodyError},
    commitment::{Commitment, Disclosure},
    content::Content,
    dsse, exact,
    form::ApiForm,
    honesty,
    keys::{KeyError, KeySet, Purpose, SealKey},
    text::Thumbprint,
};

/// Runs every check of one deed but that of its signature, and returns its place in the log if it
/// could be read.
pub(super) fn check(item: &Item, checks: &mut Checks) -> Option<Link> {
    let is_deed = item.payload_type == dsse::DEED_TYPE;
    checks.outcome(
        CheckId::Type,
        ensure(is_deed, || {
            format!("expected a payload of type `{}`, got `{}`", dsse::DEED_TYPE, item.payload_type)
        }),
    );
    let body = read_body(item, checks)?;
    let named = format!("deed {}", body.seq);
    checks.outcome(CheckId::Honesty, honest(&body).map_err(|why| format!("{named}: {why}")));
    let same_key = item.key_id == body.key_id.as_str();
    checks.outcome(
        CheckId::KeyId,
        ensure(same_key, || {
            format!("{named}: the frame names `{}`, the body `{}`", item.key_id, body.key_id)
        }),
    );
    let link = Link { digest: crypto::sha256(&item.payload), body };
    if item.form.is_some() || !item.disclosures.is_empty() {
        check_shown(item, &link, checks);
    }
    Some(link)
}

/// Checks what stands beside the payload.
fn check_shown(item: &Item, link: &Link, checks: &mut Checks) {
    let shown = serde_json::to_value(&link.body).unwrap_or_default();
    if let Some(form) = &item.form {
        check_form(form, link, &shown, checks);
    }
    if !item.disclosures.is_empty() {
        let opened = disclosed(&shown, &item.disclosures);
        let named = |why| format!("deed {}: {why}", link.body.seq);
        checks.outcome(CheckId::Disclosures, opened.map_err(named));
    }
}

fn read_body(item: &Item, checks: &mut Checks) -> Option<Body> {
    let fault = match Body::read(&item.payload) {
        Ok(body) => {
            checks.pass(CheckId::Canonical);
            checks.pass(CheckId::Shape);
            return Some(body);
        }
        Err(fault) => fault,
    };
    match &fault {
        BodyError::Json(_) | BodyError::NotCanonical | BodyError::Profile(_) => {
            checks.fail(CheckId::Canonical, fault.to_string());
        }
        BodyError::Unknown(_) => checks.undecided(CheckId::Shape, fault.to_string()),
        BodyError::Shape(_) => checks.fail(CheckId::Shape, fault.to_string()),
    }
    None
}

fn honest(body: &Body) -> Result<(), honesty::HonestyError> {
    honesty::check(&body.actor, &body.subject, &body.content)?;
    match &body.content {
        Content::Amendment(amendment) => honesty::amends_earlier(&amendment.amends, body.seq),
        Content::Action(_) | Content::Admin(_) => Ok(()),
    }
}

/// Everything beside the payload only repeats it; a reader who looks there must not be misled.
fn check_form(form: &ApiForm, link: &Link, shown: &Value, checks: &mut Checks) {
    let (body, digest) = (&link.body, link.digest.to_string());
    checks.outcome(
        CheckId::Digest,
        ensure(form.digest == digest, || {
            format!("deed {}: `digest` is `{}`, the payload's is `{digest}`", body.seq, form.digest)
        }),
    );
    let repeats = [
        ("id", form.id == body.id.to_string()),
        ("kind", form.kind == body.kind.as_str()),
        ("body", form.body == *shown),
        ("log.origin", form.log.origin == body.log.as_str()),
        ("log.index", form.log.index == body.seq),
    ];
    let differs = repeats.iter().find(|(_, same)| !same);
    checks.outcome(
        CheckId::Form,
        differs.map_or(Ok(()), |(member, _)| {
            Err(format!("deed {}: `{member}` is not what was signed", body.seq))
        }),
    );
}

/// Checks that the deed was signed by a key that counts for it.
pub(super) fn check_signature(
    item: &Item,
    body: &Body,
    keys: Option<&KeySet>,
    checks: &mut Checks,
) {
    let named = |why: String| format!("deed {}: {why}", body.seq);
    let key = match known(keys, &body.key_id) {
        Ok(key) => key,
        Err(why) => return checks.undecided(CheckId::Key, named(why)),
    };
    checks.pass(CheckId::Key);
    match key.admits(Purpose::Deed, body.issued_at) {
        Ok(()) => {
            checks.pass(CheckId::Window);
            checks.pass(CheckId::Revoked);
        }
        Err(fault @ KeyError::Revoked) => {
            checks.fail(CheckId::Revoked, named(fault.to_string()));
        }
        Err(fault @ (KeyError::NotYetActive | KeyError::Retired | KeyError::OtherPurpose)) => {
            checks.fail(CheckId::Window, named(fault.to_string()));
        }
    }
    let signed = dsse::pae(&item.payload_type, &item.payload);
    let holds = key.public.verifies(&signed, &item.signature);
    checks.outcome(
        CheckId::Signature,
        ensure(holds, || named(format!("the signature is not that of `{}`", body.key_id))),
    );
}

/// Returns the key, or says why there is none to check with.
pub(super) fn known<'a>(keys: Option<&'a KeySet>, kid: &Thumbprint) -> Result<&'a SealKey, String> {
    let keys = keys.ok_or_else(|| "no keys were given".to_owned())?;
    keys.find(kid).ok_or_else(|| format!("no key `{kid}` was given"))
}

/// Each disclosure opens the commitment at its place, and no place is opened twice.
fn disclosed(body: &Value, disclosures: &[String]) -> Result<(), String> {
    let mut opened = BTreeSet::new();
    for base64 in disclosures {
        let text = STANDARD.decode(base64).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.ok_or_else(|| "a disclosure is no base64 of a text".to_owned())?;
        let open = Disclosure::from_text(text).map_err(|error| error.to_string())?;
        let path = open.path().as_str().to_owned();
        let committed = at(body, &path)
            .and_then(|value| exact::from_value::<Commitment>(value.clone()).ok())
            .ok_or_else(|| format!("the deed commits to nothing at `{path}`"))?;
        if committed != open.commitment() {
            return Err(format!("the disclosure of `{path}` is not what the deed commits to"));
        }
        if !opened.insert(path.clone()) {
            return Err(format!("`{path}` is disclosed twice"));
        }
    }
    Ok(())
}

fn at<'a>(body: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(body, |value, name| match value {
        Value::Array(items) => {
            let place = name.parse::<usize>().ok().filter(|place| place.to_string() == name)?;
            items.get(place)
        }
        Value::Object(members) => members.get(name),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}
