//! Sessions, as the people whose they are see and end them.

use std::sync::Arc;

use act::MayView;
use admin::Membership;
use crypto::Secret;
use http::HeaderValue;
use ledger::{StoreDown, record::Member};
use model::{MemberId, OrgId, SessionId, Timestamp, UserId};
use people::{
    Address, LIVES, SignedIn,
    store::{Chosen, Session, Whose},
};
use serde_json::json;
use web::{ApiError, Call, Cookie, Credential, List, Param, Reply, see_other};

use crate::{
    access::{Person, Seat},
    app::App,
    refusal::{Answer, CallError},
    wire::{
        next::again_page,
        sign_in::{ListedSession, OrgChoice, SessionView, Shown, org_chosen},
    },
};

/// The parameters of the list of sessions.
pub(crate) const LIST: &[Param] =
    &[Param::One("member"), Param::One("limit"), Param::One("cursor")];

/// `GET /v1/session`
pub(crate) async fn show(app: Arc<App>, caller: Person, call: Call) -> Answer {
    Ok(Reply::ok(&view(&app, &caller, token(&call)?).await?))
}

/// `DELETE /v1/session`
pub(crate) async fn sign_out(app: Arc<App>, caller: Person, _: Call) -> Answer {
    app.sign_in.people.end(caller.session.user, caller.session.id).await?;
    app.sign_in.remembered.forget_all();
    let cleared = app.sign_in.site.clear(Cookie::Session)?;
    Ok(ended_sessions(1).with_cookie(cleared))
}

/// `POST /v1/session/org`
pub(crate) async fn choose(app: Arc<App>, caller: Person, call: Call) -> Answer {
    let (org, next) = org_chosen(&call)?;
    let member = app.admin.member_of(org, caller.session.user).await?;
    let member = member.ok_or_else(ApiError::not_found)?;
    if let Err(refused) = caller.may_sit_as(&member) {
        // The org is chosen again behind the sign-in, and the page is not lost.
        return if call.is_form() {
            Ok(see_other(&again_page(next.as_deref()))?)
        } else {
            Err(refused.into())
        };
    }
    let chosen = app.sign_in.people.choose(token(&call)?, chosen(&member)).await?;
    let SignedIn { session, token, .. } = chosen.ok_or_else(ended)?;
    app.sign_in.remembered.forget_all();
    let person = Person { session, seat: Some(Seat::of(&member)) };
    let reply = if call.is_form() {
        see_other(next.as_deref().unwrap_or("/app"))?
    } else {
        Reply::ok(&view(&app, &person, &token).await?)
    };
    Ok(with_session(&app, reply, &token)?)
}

/// `GET /v1/sessions`
pub(crate) async fn list(app: Arc<App>, caller: Person, call: Call) -> Answer {
    let whose = whose(&app, &caller, call.query.parse("member")?).await?;
    // A person's own list belongs to no org; its cursors are the person's.
    let org = whose.org.unwrap_or(OrgId::from_uuid(*whose.user.as_uuid()));
    let listed = List { name: "sessions", org, agent: None };
    let page = app.cursors.page::<(Timestamp, SessionId)>(listed, &call.query)?;
    let below = page.after.map(|(_, id)| id);
    let found = app.sign_in.people.sessions(whose, below, page.limit + 1).await?;
    let position = |session: &Session| (session.created_at, session.id);
    let current = caller.session.id;
    Ok(Reply::ok(&page.of(&found, position, |session| ListedSession::of(session, current))))
}

/// `DELETE /v1/sessions/{id}`
pub(crate) async fn end(app: Arc<App>, caller: Person, call: Call) -> Answer {
    let id: SessionId = call.param("id")?;
    if !app.sign_in.people.end(caller.session.user, id).await? {
        return end_of_member(&app, &caller, id).await;
    }
    app.sign_in.remembered.forget_all();
    let reply = ended_sessions(1);
    if id == caller.session.id {
        return Ok(reply.with_cookie(app.sign_in.site.clear(Cookie::Session)?));
    }
    Ok(reply)
}

/// `POST /v1/sessions/revoke_others`
pub(crate) async fn end_others(app: Arc<App>, caller: Person, _: Call) -> Answer {
    let Session { user, id, .. } = caller.session;
    let ended = app.sign_in.people.end_others(user, id).await?;
    app.sign_in.remembered.forget_all();
    Ok(ended_sessions(ended))
}

/// Whose sessions are asked for: one's own, or a member's, of which an owner sees those for the org.
async fn whose(app: &App, caller: &Person, member: Option<MemberId>) -> Result<Whose, CallError> {
    let Some(member) = member else { return Ok(caller.session.user.into()) };
    let owner = caller.as_owner()?;
    let user = app.admin.view(&owner).member(member).await?.user;
    Ok(Whose { user, org: Some(owner.org()) })
}

/// Ends the session of another member that is for the org of an owner. To everybody else there is no
/// such session.
async fn end_of_member(app: &App, caller: &Person, id: SessionId) -> Answer {
    let owner = caller.as_owner().map_err(|_| ApiError::not_found())?;
    let (org, people) = (owner.org(), &app.sign_in.people);
    let user = people.person_of(org, id).await?.ok_or_else(ApiError::not_found)?;
    let member = app.admin.member_of(org, user).await?.ok_or_else(ApiError::not_found)?;
    caller.must_be_fresh()?;
    let deed = app.admin.own(&owner).revoke_session(member.id, id).await?;
    people.end(Whose { user, org: Some(org) }, id).await?;
    app.sign_in.remembered.forget_all();
    Ok(Reply::ok(&json!({ "object": "ended_sessions", "ended": 1, "deed": deed })))
}

fn ended_sessions(ended: u64) -> Reply {
    Reply::ok(&json!({ "object": "ended_sessions", "ended": ended }))
}

/// The address of whoever is signed in already, on a page that anybody may open.
pub(crate) async fn already(app: &App, call: &Call) -> Result<Option<Address>, CallError> {
    // Of two cookies neither counts; signing in gives one.
    let shown = app.sign_in.site.cookie(&call.headers, Cookie::Session).unwrap_or_default();
    let Some(token) = shown else { return Ok(None) };
    let Some(session) = app.sign_in.people.session_unused(&token).await? else { return Ok(None) };
    Ok(app.sign_in.people.address(session.user).await?)
}

/// Somebody who has just signed in, in their org where they have one alone.
pub(super) async fn seated(app: &App, signed_in: SignedIn) -> Result<SignedIn, CallError> {
    if signed_in.session.chosen.is_some() {
        return Ok(signed_in);
    }
    let orgs = app.admin.memberships(signed_in.session.user).await?;
    let [only] = orgs.as_slice() else { return Ok(signed_in) };
    seated_as(app, signed_in, &only.member).await
}

/// Somebody who has just signed in, in the org of this member, who they are.
pub(super) async fn seated_as(
    app: &App,
    signed_in: SignedIn,
    member: &Member,
) -> Result<SignedIn, CallError> {
    let seated = app.sign_in.people.choose(&signed_in.token, chosen(member)).await?;
    let seated = seated.ok_or_else(ended)?;
    Ok(SignedIn { next: signed_in.next, ..seated })
}

/// Puts a session that is for no org into the org that its person has just joined; whether it is for
/// that org now. It keeps its token, so one whose sign-in is not of the last minutes stays outside.
pub(super) async fn enter(
    app: &App,
    caller: &Person,
    (member, token): (&Member, &Secret<String>),
) -> Result<bool, CallError> {
    if !caller.session.is_fresh || caller.may_sit_as(member).is_err() {
        return Ok(false);
    }
    let entered = app.sign_in.people.enter(token, chosen(member)).await?;
    app.sign_in.remembered.forget_all();
    Ok(entered.is_some())
}

/// The org of a session, as whoever this member is.
fn chosen(member: &Member) -> Chosen {
    Chosen { org: member.org, member: Some(member.id), role: member.role }
}

/// What a session shows its own pages.
pub(super) async fn view(
    app: &App,
    person: &Person,
    token: &Secret<String>,
) -> Result<SessionView, CallError> {
    let address = address(app, person).await?;
    Ok(SessionView::of(Shown {
        session: &person.session,
        seat: person.seat.as_ref(),
        address: &address,
        orgs: orgs(app, person.session.user).await?,
        csrf: app.sign_in.people.csrf(token),
    }))
}

/// The orgs that the person is in.
pub(crate) async fn orgs(app: &App, user: UserId) -> Result<Vec<OrgChoice>, StoreDown> {
    let found = app.admin.memberships(user).await?.into_iter();
    let choice = |Membership { member, org_name }: Membership| OrgChoice {
        id: member.org,
        name: org_name,
        role: member.role,
    };
    Ok(found.map(choice).collect())
}

/// The address of the person of a session.
pub(crate) async fn address(app: &App, person: &Person) -> Result<Address, CallError> {
    let address = app.sign_in.people.address(person.session.user).await?;
    Ok(address.ok_or_else(ended)?)
}

/// The answer that gives its browser a session.
pub(super) fn with_session(
    app: &App,
    reply: Reply,
    token: &Secret<String>,
) -> Result<Reply, ApiError> {
    let cookie: HeaderValue = app.sign_in.site.set(Cookie::Session, token, LIVES.as_secs())?;
    Ok(reply.with_cookie(cookie))
}

/// The token of the session that a request came with.
pub(crate) fn token(call: &Call) -> Result<&Secret<String>, ApiError> {
    match &call.shown {
        Some(Credential::Session(token)) => Ok(token),
        Some(Credential::Key(_)) | None => Err(ended()),
    }
}

fn ended() -> ApiError {
    ApiError::unauthenticated("the session has ended; sign in again")
}
