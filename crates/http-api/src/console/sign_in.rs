//! Signing in, joining, choosing an org and signing out.

use std::sync::Arc;

use crypto::Secret;
use model::ChallengeId;
use people::Opens;
use serde_json::{Value, json};
use web::{ApiError, Call, Cookie, Param};

use super::{Referrer, Shown, page, see_other, shown};
use crate::{
    access::{Anyone, Person},
    app::App,
    handlers::{sessions, sign_in as handlers},
    refusal::{Answer, CallError},
};

/// The parameters of the page on which somebody begins.
pub(crate) const LOGIN: &[Param] =
    &[Param::One("next"), Param::One("invite"), Param::One("problem")];
/// The parameters of the page of a link, and of the one on which a code is typed.
pub(crate) const CONFIRM: &[Param] =
    &[Param::One("t"), Param::One("challenge"), Param::One("problem")];
/// The parameter of the page of an invitation.
pub(crate) const JOIN: &[Param] = &[Param::One("invite"), Param::One("problem")];
/// The parameter of the page on which somebody shows once more who they are.
pub(crate) const AGAIN: &[Param] = &[Param::One("next")];
/// The parameter of the page of orgs.
pub(crate) const ORGS: &[Param] = &[Param::One("problem")];

/// `GET /login`
pub(crate) async fn login(app: Arc<App>, _: Anyone, call: Call) -> Answer {
    let invite = call.query.text("invite").filter(|text| is_token(text));
    let next = match invite {
        Some(invite) => Some(format!("/app/join?invite={}", pages::encoded(invite))),
        None => call.query.text("next").filter(|path| is_own(path)).map(str::to_owned),
    };
    let shown = shown([
        ("next", next.into()),
        ("is_invited", invite.is_some().into()),
        ("problem", problem(&call)),
    ]);
    let reply = page(&app, "auth/login.html", Referrer::Nobody, &shown)?;
    Ok(handlers::of_known_browser(&app, &call, reply)?)
}

/// `POST /v1/auth/start`
///
/// A form that is refused leads back to its page, and that leads on to where its reader wanted to.
pub(crate) async fn start(app: Arc<App>, caller: Anyone, call: Call) -> Answer {
    let is_of_page = call.is_form()
        && call.header("Accept").is_some_and(|accepted| accepted.contains("text/html"));
    let next = if is_of_page { wanted(&call) } else { None };
    let on = next.map(|path| format!("&next={}", pages::encoded(&path))).unwrap_or_default();
    let refused = match handlers::start(app, caller, call).await.map_err(ApiError::from) {
        Ok(reply) => return Ok(reply),
        Err(refused) => refused,
    };
    if is_of_page && matches!(refused.status().as_u16(), 400 | 429) {
        return Ok(see_other(&format!("/login?problem={}{on}", refused.code()))?);
    }
    Err(refused.into())
}

/// Where whoever sent the form wants to go, as far as that is read at all.
fn wanted(call: &Call) -> Option<String> {
    let next = call.fields().ok()?.optional::<String>("next").ok()??;
    is_own(&next).then_some(next)
}

/// `GET /auth/confirm`
///
/// Opening a link does nothing: programs that look at mails open them, too.
pub(crate) async fn confirm(app: Arc<App>, _: Anyone, call: Call) -> Answer {
    let (step, proof) = step(&app, &call).await?;
    let shown =
        shown([("step", step.into()), ("proof", proof.into()), ("problem", problem(&call))]);
    Ok(page(&app, "auth/confirm.html", Referrer::Nobody, &shown)?)
}

/// How far somebody is, and what they go on with: the link's token, its code or the challenge.
async fn step(app: &App, call: &Call) -> Result<(&'static str, Option<String>), CallError> {
    if let Some(link) = call.query.text("t") {
        let link = Secret::new(link.to_owned());
        let browser = app.sign_in.site.cookie(&call.headers, Cookie::BeforeSignIn)?;
        return Ok(match app.sign_in.people.opened(&link, browser.as_ref()).await? {
            Some(Opens::Here) => ("button", Some(link.expose().clone())),
            Some(Opens::Elsewhere(code)) => ("elsewhere", Some(code.expose().clone())),
            None => ("dead", None),
        });
    }
    Ok(match call.query.parse::<ChallengeId>("challenge") {
        Ok(Some(id)) => ("code", Some(id.to_string())),
        Ok(None) | Err(_) => ("dead", None),
    })
}

/// `GET /app/orgs`
pub(crate) async fn orgs(app: Arc<App>, caller: Person, call: Call) -> Answer {
    let mut shown = person(&app, &caller, &call).await?;
    shown.insert("orgs".to_owned(), json!(app.orgs(caller.session.user).await?));
    Ok(page(&app, "auth/orgs.html", Referrer::SameOrigin, &shown)?)
}

/// `GET /app/join`
pub(crate) async fn join(app: Arc<App>, caller: Person, call: Call) -> Answer {
    let mut shown = person(&app, &caller, &call).await?;
    let invite = call.query.text("invite").unwrap_or_default();
    shown.insert("invite".to_owned(), invite.into());
    Ok(page(&app, "auth/join.html", Referrer::SameOrigin, &shown)?)
}

/// `GET /app/again`
pub(crate) async fn again(app: Arc<App>, caller: Person, call: Call) -> Answer {
    let mut shown = person(&app, &caller, &call).await?;
    let next = call.query.text("next").filter(|path| is_own(path)).unwrap_or("/app");
    shown.insert("next".to_owned(), next.into());
    let reply = page(&app, "auth/again.html", Referrer::SameOrigin, &shown)?;
    Ok(handlers::of_known_browser(&app, &call, reply)?)
}

/// `POST /app/sign-out`
pub(crate) async fn sign_out(app: Arc<App>, caller: Person, call: Call) -> Answer {
    let ended = sessions::sign_out(app, caller, call).await?;
    let mut reply = see_other("/login")?;
    reply.headers.extend(ended.headers);
    Ok(reply)
}

/// Who is signed in, on a page that stands outside every org.
async fn person(app: &App, caller: &Person, call: &Call) -> Result<Shown, CallError> {
    let address = sessions::address(app, caller).await?;
    let csrf = app.sign_in.people.csrf(sessions::token(call)?);
    Ok(shown([
        ("me", json!({ "email": address.as_str() })),
        ("csrf", csrf.expose().as_str().into()),
        ("problem", problem(call)),
    ]))
}

/// What went wrong with what was sent last, as its answer led here.
fn problem(call: &Call) -> Value {
    call.query.text("problem").into()
}

/// Whether this is a page of the service, as the form that carries it on wants it.
fn is_own(path: &str) -> bool {
    let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    is_plain && path.starts_with('/') && !path.starts_with("//") && path.len() <= 1024
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.len() <= 256 && text.bytes().all(|byte| byte.is_ascii_graphic())
}
