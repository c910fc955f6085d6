//! The checks of one deed by itself: its bytes, its claims, its signature, its disclosures.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::{
    checks::{CheckId, ensure},
    findings::{Account, Findings, Unmet},
    input::Item,
    link::Link,
    progress::Progress,
    required,
};
use crate::{
    body::{Body, BodyError},
    commitment::{Commitment, Disclosure},
    content::Content,
    dsse, exact,
    form::ApiForm,
    honesty,
    keys::{KeySet, KeyUseError, Purpose, SealKey},
    parallel,
    text::Thumbprint,
};

/// Checks each deed by itself and returns those that could be read.
pub(super) fn each(
    items: &[Item],
    keys: Option<&KeySet>,
    account: &mut Account,
    tell: &mut dyn FnMut(Progress),
) -> Vec<Link> {
    let check = |part: &[Item]| {
        let mut account = Account::default();
        let read = |item| {
            let mut found = Findings::default();
            (item, (self::check(item, &mut found), found))
        };
        let checked: Vec<_> = part.iter().map(read).collect();
        // Signatures come last and in one go, which keeps the curve's code in the cache.
        let settle = |(item, (link, mut found)): (&Item, (Option<Link>, Findings))| {
            if let Some(link) = &link {
                check_signature(item, &link.body, keys, &mut found);
            }
            account.settle(required::of_deed(item), found);
            link
        };
        (checked.into_iter().filter_map(settle).collect::<Vec<_>>(), account)
    };
    let all = items.len();
    let parts = parallel::blocks(items, check, |done| tell(Progress::Checked { done, all }));
    let mut links = Vec::with_capacity(items.len());
    for (part, found) in parts {
        links.extend(part);
        account.absorb(found);
    }
    links
}

/// Runs every check of one deed but those of its key, and returns its place in the log if it could
/// be read.
pub(super) fn check(item: &Item, found: &mut Findings) -> Option<Link> {
    found.run(CheckId::Type, || {
        let is_deed = item.payload_type == dsse::DEED_TYPE;
        ensure(is_deed, || {
            format!("expected a payload of type `{}`, got `{}`", dsse::DEED_TYPE, item.payload_type)
        })
    });
    let body = read_body(item, found)?;
    let named = format!("deed {}", body.seq);
    found.run(CheckId::Honesty, || honest(&body).map_err(|why| format!("{named}: {why}")));
    found.run(CheckId::KeyId, || {
        ensure(item.key_id == body.key_id.as_str(), || {
            format!("{named}: the frame names `{}`, the body `{}`", item.key_id, body.key_id)
        })
    });
    let link = Link { digest: crypto::sha256(&item.payload), body };
    if item.form.is_some() || !item.disclosures.is_empty() {
        check_shown(item, &link, found);
    }
    Some(link)
}

/// Checks what stands beside the payload.
fn check_shown(item: &Item, link: &Link, found: &mut Findings) {
    let shown = serde_json::to_value(&link.body).unwrap_or_default();
    if let Some(form) = &item.form {
        check_form(form, link, &shown, found);
    }
    if !item.disclosures.is_empty() {
        let named = |why| format!("deed {}: {why}", link.body.seq);
        found.run(CheckId::Disclosures, || disclosed(&shown, &item.disclosures).map_err(named));
    }
}

/// One reading is both checks: what it stumbles over says which of them does not pass.
fn read_body(item: &Item, found: &mut Findings) -> Option<Body> {
    let read = Body::read(&item.payload);
    found.run(CheckId::Canonical, || match &read {
        Err(error @ (BodyError::Json(_) | BodyError::NotCanonical | BodyError::Profile(_))) => {
            Err(error.to_string())
        }
        Ok(_) | Err(BodyError::Unknown(_) | BodyError::Shape(_)) => Ok(()),
    })?;
    found.run(CheckId::Shape, || {
        read.map_err(|error| match &error {
            BodyError::Unknown(_) => Unmet::Open(error.to_string()),
            BodyError::Shape(_)
            | BodyError::Json(_)
            | BodyError::NotCanonical
            | BodyError::Profile(_) => Unmet::Fails(error.to_string()),
        })
    })
}

fn honest(body: &Body) -> Result<(), honesty::HonestyError> {
    honesty::check(&body.actor, &body.subject, &body.content)?;
    match &body.content {
        Content::Amendment(amendment) => honesty::amends_earlier(&amendment.amends, body.seq),
        Content::Action(_) | Content::Admin(_) => Ok(()),
    }
}

/// Everything beside the payload only repeats it; a reader who looks there must not be misled.
fn check_form(form: &ApiForm, link: &Link, shown: &Value, found: &mut Findings) {
    let (body, digest) = (&link.body, link.digest.to_string());
    found.run(CheckId::Digest, || {
        ensure(form.digest == digest, || {
            format!("deed {}: `digest` is `{}`, the payload's is `{digest}`", body.seq, form.digest)
        })
    });
    found.run(CheckId::Form, || {
        let repeats = [
            ("id", form.id == body.id.to_string()),
            ("kind", form.kind == body.kind.as_str()),
            ("body", form.body == *shown),
            ("log.origin", form.log.origin == body.log.as_str()),
            ("log.index", form.log.index == body.seq),
        ];
        let differs = repeats.iter().find(|(_, same)| !same);
        differs.map_or(Ok(()), |(member, _)| {
            Err(format!("deed {}: `{member}` is not what was signed", body.seq))
        })
    });
}

/// Checks that the deed was signed by a key that counts for it.
pub(super) fn check_signature(
    item: &Item,
    body: &Body,
    keys: Option<&KeySet>,
    found: &mut Findings,
) {
    let named = |why: String| format!("deed {}: {why}", body.seq);
    let key = found
        .run(CheckId::Key, || known(keys, &body.key_id).map_err(|why| Unmet::Open(named(why))));
    let Some(key) = key else { return };
    let admitted = key.admits(Purpose::Deed, body.issued_at);
    // Of a key's faults the first counts, and then nothing is said of the other check.
    let is_revoked = admitted == Err(KeyUseError::Revoked);
    let outcome = || admitted.map_err(|fault| named(fault.to_string()));
    if !is_revoked {
        found.run(CheckId::Window, outcome);
    }
    if is_revoked || admitted.is_ok() {
        found.run(CheckId::Revoked, outcome);
    }
    found.run(CheckId::Signature, || {
        let signed = dsse::pae(&item.payload_type, &item.payload);
        ensure(key.public.verifies(&signed, &item.signature), || {
            named(format!("the signature is not that of `{}`", body.key_id))
        })
    });
}

/// The key, or says why there is none to check with.
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
