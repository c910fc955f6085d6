//! Signing in, and showing once more who one is.

use std::sync::Arc;

use http::{HeaderValue, StatusCode, header::LOCATION};
use people::{Asked, Asking, SignInError, SignedIn};
use web::{ApiError, Call, Cookie, Reply};

use super::sessions::{self, with_session};
use crate::{
    access::{Anyone, Person},
    app::App,
    refusal::Answer,
    wire::sign_in::{ChallengeView, ShownProof, asking, asking_again, device, network},
};

/// `POST /v1/auth/start`
///
/// What is answered, and when, does not depend on whose the address is: what is done about it is done
/// afterwards.
pub(crate) async fn start(app: Arc<App>, _: Anyone, call: Call) -> Answer {
    app.sign_in.site.no_other_page(&call.headers)?;
    let (address, next) = asking(&call)?;
    let network = network(call.client);
    ask(&app, Asking { address, network, next, again: None }).await
}

/// `POST /v1/auth/reauth`
pub(crate) async fn reauth(app: Arc<App>, caller: Person, call: Call) -> Answer {
    let next = asking_again(&call)?;
    let address = sessions::address(&app, &caller).await?;
    let again = Some(caller.session.id);
    ask(&app, Asking { address, network: network(call.client), next, again }).await
}

async fn ask(app: &App, asking: Asking) -> Answer {
    let place = app.sign_in.place()?;
    let (asked, unwritten) = app.sign_in.people.ask(asking).await?;
    app.sign_in.write(place, unwritten);
    let Asked { browser, .. } = &asked;
    let lives = people::ANSWERABLE_FOR.as_secs();
    let cookie = app.sign_in.site.set(Cookie::BeforeSignIn, browser, lives)?;
    let reply = Reply::json(StatusCode::ACCEPTED, &ChallengeView::from(&asked));
    Ok(reply.with_cookie(cookie))
}

/// `POST /v1/auth/confirm`
pub(crate) async fn confirm(app: Arc<App>, _: Anyone, call: Call) -> Answer {
    let site = &app.sign_in.site;
    site.no_other_page(&call.headers)?;
    let proof = ShownProof::read(&call)?;
    let browser = site.cookie(&call.headers, Cookie::BeforeSignIn)?;
    let browser = browser.ok_or(SignInError::Unauthenticated)?;
    let signed_in = app.sign_in.people.confirm(proof.as_proof(), &browser, device(&call)).await?;
    let SignedIn { session, token, next } = sessions::seated(&app, signed_in).await?;
    app.sign_in.remembered.forget_all();
    let reply = if call.is_form() {
        let to = HeaderValue::try_from(next.as_deref().unwrap_or("/"));
        let to = to.map_err(|_| ApiError::internal())?;
        Reply::empty(StatusCode::SEE_OTHER).with(LOCATION, to)
    } else {
        let person = app.person(session).await?;
        Reply::ok(&sessions::view(&app, &person, &token).await?.going_on(next))
    };
    Ok(with_session(&app, reply, &token)?.with_cookie(site.clear(Cookie::BeforeSignIn)?))
}
