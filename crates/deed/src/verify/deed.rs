//! The checks of one deed by itself: its bytes, its claims, its signature, its disclosures.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::{Link, checks::CheckId, checks::Checks, input::Item};
use crate::{
    body::{Body, BodyFault},
    commitment::{Commitment, Disclosure},
    content::Content,
    dsse,
    form::ApiForm,
    honesty,
    keys::{KeyFault, KeySet, Purpose},
};

/// Runs every check of one deed and returns its place in the log if it could be read.
pub(super) fn check(item: &Item, keys: Option<&KeySet>, checks: &mut Checks) -> Option<Link> {
    let is_deed = item.payload_type == dsse::DEED_TYPE;
    checks.outcome(
        CheckId::Type,
        is_deed.then_some(()).ok_or_else(|| {
            format!("expected a payload of type `{}`, got `{}`", dsse::DEED_TYPE, item.payload_type)
        }),
    );
    let body = read_body(item, checks)?;
    let named = format!("deed {}", body.seq);
    let digest = crypto::sha256(&item.payload);
    checks.outcome(CheckId::Honesty, honest(&body).map_err(|why| format!("{named}: {why}")));
    let same_key = item.key_id == body.key_id.as_str();
    checks.outcome(
        CheckId::KeyId,
        same_key.then_some(()).ok_or_else(|| {
            format!("{named}: the frame names `{}`, the body `{}`", item.key_id, body.key_id)
        }),
    );
    if let Some(form) = &item.form {
        check_form(form, &body, item, checks);
        checks.outcome(
            CheckId::Disclosures,
            disclosed(form).map_err(|why| format!("{named}: {why}")),
        );
    }
    check_signature(item, &body, keys, checks);
    Some(Link { body, digest })
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
        BodyFault::Json(_) | BodyFault::NotCanonical | BodyFault::Profile(_) => {
            checks.fail(CheckId::Canonical, fault.to_string());
        }
        BodyFault::Unknown(_) => checks.undecided(CheckId::Shape, fault.to_string()),
        BodyFault::Shape(_) => checks.fail(CheckId::Shape, fault.to_string()),
    }
    None
}

fn honest(body: &Body) -> Result<(), honesty::Dishonest> {
    honesty::check(&body.actor, &body.subject, &body.content)?;
    match &body.content {
        Content::Amendment(amendment) => honesty::amends_earlier(&amendment.amends, body.seq),
        Content::Action(_) | Content::Admin(_) => Ok(()),
    }
}

/// Everything beside the payload only repeats it; a reader who looks there must not be misled.
fn check_form(form: &ApiForm, body: &Body, item: &Item, checks: &mut Checks) {
    let digest = crypto::sha256(&item.payload).to_string();
    checks.outcome(
        CheckId::Digest,
        (form.digest == digest).then_some(()).ok_or_else(|| {
            format!("deed {}: `digest` is `{}`, the payload's is `{digest}`", body.seq, form.digest)
        }),
    );
    let shown = serde_json::to_value(body).unwrap_or_default();
    let repeats = [
        ("id", form.id == body.id.to_string()),
        ("kind", form.kind == body.kind.as_str()),
        ("body", form.body == shown),
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

fn check_signature(item: &Item, body: &Body, keys: Option<&KeySet>, checks: &mut Checks) {
    let Some(key) = keys.and_then(|keys| keys.find(&body.key_id)) else {
        let why = match keys {
            None => "no keys were given".to_owned(),
            Some(_) => format!("deed {}: no key `{}` was given", body.seq, body.key_id),
        };
        return checks.undecided(CheckId::Key, why);
    };
    checks.pass(CheckId::Key);
    let admits = key.admits(Purpose::Deed, body.issued_at);
    let named = |why: KeyFault| format!("deed {}: {why}", body.seq);
    match admits {
        Ok(()) => {
            checks.pass(CheckId::Window);
            checks.pass(CheckId::Revoked);
        }
        Err(fault @ KeyFault::Revoked) => checks.fail(CheckId::Revoked, named(fault)),
        Err(fault @ (KeyFault::NotYetActive | KeyFault::Retired | KeyFault::OtherPurpose)) => {
            checks.fail(CheckId::Window, named(fault));
        }
    }
    let signed = dsse::pae(&item.payload_type, &item.payload);
    let holds = key.public.verifies(&signed, &item.signature);
    checks.outcome(
        CheckId::Signature,
        holds.then_some(()).ok_or_else(|| {
            format!("deed {}: the signature is not that of `{}`", body.seq, body.key_id)
        }),
    );
}

/// Each disclosure opens the commitment at its place, and no place is opened twice.
fn disclosed(form: &ApiForm) -> Result<(), String> {
    let mut opened = BTreeSet::new();
    for base64 in &form.disclosures {
        let text = STANDARD.decode(base64).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.ok_or_else(|| "a disclosure is no base64 of a text".to_owned())?;
        let open = Disclosure::from_text(text).map_err(|error| error.to_string())?;
        let path = open.path().as_str().to_owned();
        let committed = at(&form.body, &path)
            .and_then(|value| serde_json::from_value::<Commitment>(value.clone()).ok())
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
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        Value::Object(members) => members.get(name),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}
