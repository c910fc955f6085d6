//! Signing in, and showing once more who one is.

use std::{sync::Arc, time::Duration};

use crypto::Secret;
use http::{HeaderValue, StatusCode};
use people::{SignInError, SignInRequest, SignedIn, StartedSignIn};
use web::{ApiError, Call, Cookie, Reply, see_other};

use super::{
    invites,
    sessions::{self, with_session},
};
use crate::{
    access::{Anyone, Person},
    app::App,
    refusal::{Answer, CallError},
    wire::sign_in::{ChallengeView, ShownProof, asking, asking_again, device, network},
};

/// `POST /v1/auth/start`
///
/// What is answered, and when, does not depend on whose the address is: what is done about it is done
/// afterwards.
pub(crate) async fn start(app: Arc<App>, _: Anyone, call: Call) -> Answer {
    app.sign_in.site.no_other_page(&call.headers)?;
    let (address, next) = asking(&call)?;
    let (network, browser) = (network(call.client), before(&app, &call)?);
    let asking = SignInRequest { address, network, next, again: None, browser };
    let (asked, cookie) = ask(&app, asking).await?;
    Ok(answered(&call, &asked)?.with_cookie(cookie))
}

/// `POST /v1/auth/reauth`
pub(crate) async fn reauth(app: Arc<App>, caller: Person, call: Call) -> Answer {
    let next = asking_again(&call)?;
    let address = sessions::address(&app, &caller).await?;
    let again = Some(caller.session.id);
    let (network, browser) = (network(call.client), before(&app, &call)?);
    let asking = SignInRequest { address, network, next, again, browser };
    let (asked, cookie) = ask(&app, asking).await?;
    Ok(answered(&call, &asked)?.with_cookie(cookie))
}

/// What the browser was given when it asked before.
fn before(app: &App, call: &Call) -> Result<Option<Secret<String>>, ApiError> {
    app.sign_in.site.cookie(&call.headers, Cookie::BeforeSignIn)
}

/// What was asked, and the cookie by which its browser is known.
async fn ask(app: &App, asking: SignInRequest) -> Result<(StartedSignIn, HeaderValue), CallError> {
    let place = app.sign_in.place()?;
    let (asked, pending) = app.sign_in.people.ask(asking).await?;
    app.sign_in.store_challenge(place, pending);
    let cookie = browser_cookie(app, &asked.browser)?;
    Ok((asked, cookie))
}

/// How long a browser is known that may ask: longer than pages stay open before somebody asks on one.
const KNOWN_FOR: Duration = Duration::from_hours(24);

/// A page on which somebody may ask, with the cookie by which their browser is known then. A form that
/// is sent twice at one moment is sent by one browser so.
pub(crate) fn of_known_browser(app: &App, call: &Call, page: Reply) -> Result<Reply, ApiError> {
    match before(app, call) {
        Ok(had) => {
            let browser = app.sign_in.people.browser(had);
            Ok(page.with_cookie(browser_cookie(app, &browser)?))
        }
        // Two cookies of the name; asking says so.
        Err(_) => Ok(page),
    }
}

fn browser_cookie(app: &App, browser: &Secret<String>) -> Result<HeaderValue, ApiError> {
    app.sign_in.site.set(Cookie::BeforeSignIn, browser, KNOWN_FOR.as_secs())
}

/// A form goes on where the code is typed.
fn answered(call: &Call, asked: &StartedSignIn) -> Result<Reply, ApiError> {
    if call.is_form() {
        return see_other(&format!("/auth/confirm?challenge={}", asked.challenge));
    }
    Ok(Reply::json(StatusCode::ACCEPTED, &ChallengeView::from(asked)))
}

/// `POST /v1/auth/confirm`
///
/// A form is answered by the page that was asked for, or by the page that it stood on.
pub(crate) async fn confirm(app: Arc<App>, _: Anyone, call: Call) -> Answer {
    app.sign_in.site.no_other_page(&call.headers)?;
    let proof = ShownProof::read(&call)?;
    match confirmed(&app, &proof, &call).await.map_err(ApiError::from) {
        Err(error) if call.is_form() && error.status().is_client_error() => {
            let page = match proof {
                ShownProof::Code(id, _) => format!("/auth/confirm?challenge={id}&"),
                ShownProof::Link(_) => "/login?".to_owned(),
            };
            Ok(see_other(&format!("{page}problem={}", error.code()))?)
        }
        answer => Ok(answer?),
    }
}

async fn confirmed(app: &App, proof: &ShownProof, call: &Call) -> Answer {
    let site = &app.sign_in.site;
    let browser = site.cookie(&call.headers, Cookie::BeforeSignIn)?;
    let browser = browser.ok_or(SignInError::Unauthenticated)?;
    let signed_in = app.sign_in.people.confirm(proof.as_proof(), &browser, device(call)).await?;
    // A form has a page behind it that may be an invitation; the answer in JSON names that page.
    let signed_in =
        if call.is_form() { invites::joined_on_the_way(app, signed_in).await? } else { signed_in };
    let SignedIn { session, token, next } = sessions::seated(app, signed_in).await?;
    app.sign_in.remembered.forget_all();
    let reply = if call.is_form() {
        see_other(next.as_deref().unwrap_or("/app"))?
    } else {
        let person = app.person(session).await?;
        Reply::ok(&sessions::view(app, &person, &token).await?.going_on(next))
    };
    Ok(with_session(app, reply, &token)?.with_cookie(site.clear(Cookie::BeforeSignIn)?))
}
