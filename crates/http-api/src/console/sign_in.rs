//! Signing in, joining, choosing an org and signing out.

use std::sync::Arc;

use crypto::Secret;
use model::ChallengeId;
use people::{Address, OpenedIn};
use web::{ApiError, Call, Cookie, Param, see_other};

use super::{
    Referrer, page,
    views::{self, AgainPage, ConfirmPage, LoginPage, OrgsPage, Outside, Signed},
};
use crate::{
    access::{Anyone, Person},
    app::App,
    handlers::{sessions, sign_in as handlers},
    health::Mail,
    refusal::{Answer, CallError},
    wire::next::{JoinPage, is_page, next_in, orgs_page},
};

/// The parameters of the page on which somebody begins.
pub(crate) const LOGIN: &[Param] =
    &[Param::One("email"), Param::One("next"), Param::One("invite"), Param::One("problem")];
/// The parameters of the page of a link, and of the one on which a code is typed.
pub(crate) const CONFIRM: &[Param] =
    &[Param::One("t"), Param::One("challenge"), Param::One("problem")];
/// The parameter of the page on which somebody shows once more who they are.
pub(crate) const AGAIN: &[Param] = &[Param::One("next")];
/// The parameters of the page of orgs.
pub(crate) const ORGS: &[Param] = &[Param::One("next"), Param::One("problem")];

/// `GET /`
pub(crate) async fn root(_: Arc<App>, _: Anyone, _: Call) -> Answer {
    Ok(see_other("/app")?)
}

/// `GET /login`
///
/// Somebody who is signed in with the address that a link is for goes on at once.
pub(crate) async fn login(app: Arc<App>, _: Anyone, call: Call) -> Answer {
    let email = call.query.text("email").and_then(|text| Address::parse(text).ok());
    let invite = call.query.text("invite").filter(|text| is_token(text));
    let next = match (invite, next_in(&call.query)) {
        (Some(invite), next) => {
            Some(JoinPage { invite: Secret::new(invite.to_owned()), next }.path())
        }
        (None, next) => next,
    };
    let joins = next.as_deref().and_then(JoinPage::of);
    let problem = problem(&call);
    if let Some(next) = next.as_ref().filter(|_| problem.is_none())
        && let Some(address) = sessions::already(&app, &call).await?
        && email.as_ref().is_none_or(|email| *email == address)
    {
        return Ok(see_other(next)?);
    }
    let joins = match &joins {
        Some(page) => org_of(&app, &page.invite).await?,
        None => None,
    };
    let email = email.as_ref().map(Address::as_str);
    let shown = LoginPage { email, next: next.as_deref(), joins, mail: mail(&app), problem };
    let reply = page(&app, Referrer::Nobody, &shown)?;
    Ok(handlers::of_known_browser(&app, &call, reply)?)
}

/// Whether mails leave, as a page has it.
fn mail(app: &App) -> &'static str {
    match app.health.mail() {
        Mail::Off => "off",
        Mail::Stuck => "stuck",
        Mail::Leaves => "leaves",
    }
}

/// The name of the org that this invitation is to, which its mail has, too; nothing of a text that
/// invites nobody.
async fn org_of(app: &App, invite: &Secret<String>) -> Result<Option<String>, CallError> {
    let Some((org, _)) = app.sign_in.people.invited(invite) else { return Ok(None) };
    let known = app.gate.ledger().look(org).await?;
    Ok(known.org().map(|org| org.name.clone()))
}

/// `POST /v1/auth/start`
///
/// A form that is refused leads back to its page, and that leads on to where its reader wanted to.
pub(crate) async fn start(app: Arc<App>, caller: Anyone, call: Call) -> Answer {
    let is_of_page = call.is_form()
        && call.header("Accept").is_some_and(|accepted| accepted.contains("text/html"));
    let on = if is_of_page { carried_on(&call) } else { String::new() };
    let refused = match handlers::start(app, caller, call).await.map_err(ApiError::from) {
        Ok(reply) => return Ok(reply),
        Err(refused) => refused,
    };
    if is_of_page && matches!(refused.status().as_u16(), 400 | 429) {
        return Ok(see_other(&format!("/login?problem={}{on}", refused.code()))?);
    }
    Err(refused.into())
}

/// What whoever sent the form typed and where they want to go, as far as that is read at all.
fn carried_on(call: &Call) -> String {
    let Ok(mut fields) = call.fields() else { return String::new() };
    let mut text = |name| fields.optional::<String>(name).ok().flatten();
    let next = text("next").filter(|path| is_page(path)).map(|path| ("next", path));
    let email = text("email").filter(|text| Address::parse(text).is_ok());
    let carried = next.into_iter().chain(email.map(|text| ("email", text)));
    let parts = carried.map(|(name, text)| format!("&{name}={}", pages::encoded(&text)));
    parts.collect::<Vec<_>>().concat()
}

/// `GET /auth/confirm`
///
/// Opening a link does nothing: programs that look at mails open them, too.
pub(crate) async fn confirm(app: Arc<App>, _: Anyone, call: Call) -> Answer {
    let (step, proof) = step(&app, &call).await?;
    let shown = ConfirmPage { step, proof, mail: mail(&app), problem: problem(&call) };
    Ok(page(&app, Referrer::Nobody, &shown)?)
}

/// How far somebody is, and what they go on with: the link's token, its code or the challenge.
async fn step(app: &App, call: &Call) -> Result<(&'static str, Option<String>), CallError> {
    if let Some(link) = call.query.text("t") {
        let link = Secret::new(link.to_owned());
        let browser = app.sign_in.site.cookie(&call.headers, Cookie::BeforeSignIn)?;
        return Ok(match app.sign_in.people.opened(&link, browser.as_ref()).await? {
            Some(OpenedIn::SameBrowser) => ("button", Some(link.expose().clone())),
            Some(OpenedIn::OtherBrowser(code)) => ("elsewhere", Some(code.expose().clone())),
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
    let outside = outside(&app, &caller, &call).await?;
    let orgs = sessions::orgs(&app, caller.session.user).await?;
    let shown = OrgsPage { outside, orgs, next: next_in(&call.query), problem: problem(&call) };
    Ok(page(&app, Referrer::SameOrigin, &shown)?)
}

/// `GET /app/join`
///
/// Somebody who is in the org already goes on at once.
pub(crate) async fn join(app: Arc<App>, caller: Person, call: Call) -> Answer {
    let invite = call.query.text("invite").unwrap_or_default();
    let next = next_in(&call.query);
    let invited = app.sign_in.people.invited(&Secret::new(invite.to_owned()));
    if let Some((org, _)) = invited
        && app.seat(org, caller.session.user).await?.is_some()
    {
        let is_here = caller.seat.is_some_and(|seat| seat.org == org);
        let here = next.clone().unwrap_or_else(|| "/app".to_owned());
        return Ok(see_other(&if is_here { here } else { orgs_page(next.as_deref()) })?);
    }
    let outside = outside(&app, &caller, &call).await?;
    let shown = views::JoinPage { outside, invite, next, problem: problem(&call) };
    Ok(page(&app, Referrer::SameOrigin, &shown)?)
}

/// `GET /app/again`
pub(crate) async fn again(app: Arc<App>, caller: Person, call: Call) -> Answer {
    let outside = outside(&app, &caller, &call).await?;
    let next = next_in(&call.query).unwrap_or_else(|| "/app".to_owned());
    let reply = page(&app, Referrer::SameOrigin, &AgainPage { outside, next })?;
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
async fn outside(app: &App, caller: &Person, call: &Call) -> Result<Outside, CallError> {
    let address = sessions::address(app, caller).await?;
    let csrf = app.sign_in.people.csrf(sessions::token(call)?);
    Ok(Outside { me: Signed { email: address.as_str().to_owned() }, csrf: csrf.expose().clone() })
}

/// What went wrong with what was sent last, as its answer led here.
fn problem(call: &Call) -> Option<&str> {
    call.query.text("problem")
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.len() <= 256 && text.bytes().all(|byte| byte.is_ascii_graphic())
}
