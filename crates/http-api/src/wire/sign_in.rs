//! Sign-in and sessions as requests describe and responses show them.

use std::net::{IpAddr, Ipv6Addr};

use admin::Network;
use crypto::Secret;
use model::{ChallengeId, MemberId, OrgId, Role, SessionId, Timestamp, UserId};
use people::{
    Address, Proof, StartedSignIn,
    store::{Device, Session},
};
use serde::Serialize;
use web::{ApiError, Call, Word};

use super::next::{next_of_form, next_page};
use crate::access::Seat;

/// Longer than any code and any link.
const MAX_SHOWN: usize = 256;

/// What somebody who asked to sign in is answered.
#[derive(Debug, Serialize)]
pub(crate) struct ChallengeView {
    object: &'static str,
    id: ChallengeId,
    expires_at: Timestamp,
    methods: [&'static str; 2],
}

impl From<&StartedSignIn> for ChallengeView {
    fn from(asked: &StartedSignIn) -> Self {
        let StartedSignIn { challenge, expires_at, browser: _ } = asked;
        let methods = ["link", "code"];
        Self { object: "auth_challenge", id: *challenge, expires_at: *expires_at, methods }
    }
}

/// The session that a request came with.
#[derive(Debug, Serialize)]
pub(crate) struct SessionView {
    object: &'static str,
    id: SessionId,
    user: PersonView,
    member: Option<SeatView>,
    org: Option<OrgId>,
    orgs: Vec<OrgChoice>,
    authenticated_at: Timestamp,
    expires_at: Timestamp,
    csrf: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Whose a session is.
#[derive(Debug, Serialize)]
struct PersonView {
    id: UserId,
    email: String,
}

/// Who somebody is in the org of their session.
#[derive(Debug, Serialize)]
struct SeatView {
    id: MemberId,
    role: Role,
    can_approve: bool,
}

/// An org that a session may go on in.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct OrgChoice {
    /// The org.
    pub(crate) id: OrgId,
    /// Its name.
    pub(crate) name: String,
    /// What the person is there.
    pub(crate) role: Role,
}

/// What a session's view is made of.
pub(crate) struct Shown<'a> {
    pub(crate) session: &'a Session,
    pub(crate) seat: Option<&'a Seat>,
    pub(crate) address: &'a Address,
    pub(crate) orgs: Vec<OrgChoice>,
    pub(crate) csrf: Secret<String>,
}

impl SessionView {
    pub(crate) fn of(shown: Shown<'_>) -> Self {
        let Shown { session, seat, address, orgs, csrf } = shown;
        let member = |seat: &Seat| {
            let Seat { member, role, can_approve, org: _ } = *seat;
            SeatView { id: member, role, can_approve }
        };
        Self {
            object: "session",
            id: session.id,
            user: PersonView { id: session.user, email: address.as_str().to_owned() },
            member: seat.map(member),
            org: seat.map(|seat| seat.org),
            orgs,
            authenticated_at: session.authenticated_at,
            expires_at: session.expires_at,
            csrf: csrf.expose().clone(),
            next: None,
        }
    }

    /// The view with the page on which the person goes on.
    pub(crate) fn going_on(self, next: Option<String>) -> Self {
        Self { next, ..self }
    }
}

/// One of a person's sessions.
#[derive(Debug, Serialize)]
pub(crate) struct ListedSession<'a> {
    object: &'static str,
    id: SessionId,
    created_at: Timestamp,
    authenticated_at: Timestamp,
    last_seen_at: Timestamp,
    expires_at: Timestamp,
    ip_prefix: &'a str,
    user_agent_family: &'a str,
    current: bool,
}

impl<'a> ListedSession<'a> {
    pub(crate) fn of(session: &'a Session, current: SessionId) -> Self {
        Self {
            object: "listed_session",
            id: session.id,
            created_at: session.created_at,
            authenticated_at: session.authenticated_at,
            last_seen_at: session.last_seen_at,
            expires_at: session.expires_at,
            ip_prefix: &session.device.network,
            user_agent_family: &session.device.browser,
            current: session.id == current,
        }
    }
}

/// The address and the page that somebody signs in for.
pub(crate) fn asking(call: &Call) -> Result<(Address, Option<String>), ApiError> {
    let mut fields = call.fields()?;
    let email: String = fields.required("email")?;
    let next = next_page(&mut fields)?;
    fields.finish()?;
    let address =
        Address::parse(&email).map_err(|error| ApiError::invalid("email", error.to_string()))?;
    Ok((address, next))
}

/// The page that somebody who shows a fresh sign-in wants.
pub(crate) fn asking_again(call: &Call) -> Result<Option<String>, ApiError> {
    let mut fields = call.fields()?;
    let next = next_page(&mut fields)?;
    fields.finish()?;
    Ok(next)
}

/// Reads the body of `POST /v1/session/org`: the org, and the page that a form goes on to.
pub(crate) fn org_chosen(call: &Call) -> Result<(OrgId, Option<String>), ApiError> {
    let mut fields = call.fields()?;
    let Word(org): Word<OrgId> = fields.required("org")?;
    let next = next_of_form(call, &mut fields)?;
    fields.finish()?;
    Ok((org, next))
}

/// A link's token or a challenge's code, as somebody shows it.
pub(crate) enum ShownProof {
    Link(Secret<String>),
    Code(ChallengeId, Secret<String>),
}

impl ShownProof {
    pub(crate) fn read(call: &Call) -> Result<Self, ApiError> {
        let mut fields = call.fields()?;
        let token: Option<String> = fields.optional("token")?;
        let challenge: Option<Word<ChallengeId>> = fields.optional("challenge")?;
        let code: Option<String> = fields.optional("code")?;
        fields.finish()?;
        let secret = |text: String| {
            let fits = text.len() <= MAX_SHOWN;
            fits.then(|| Secret::new(text)).ok_or_else(|| {
                ApiError::invalid("code", "expected the code or the token of the mail")
            })
        };
        match (token, challenge, code) {
            (Some(token), None, None) => secret(token).map(Self::Link),
            (None, Some(Word(id)), Some(code)) => secret(code).map(|code| Self::Code(id, code)),
            (None, Some(_), None) => Err(ApiError::invalid("code", "this field is required")),
            (None, None, Some(_)) => Err(ApiError::invalid("challenge", "this field is required")),
            (Some(_) | None, _, _) => {
                Err(ApiError::invalid("token", "expected `token`, or `challenge` and `code`"))
            }
        }
    }

    pub(crate) fn as_proof(&self) -> Proof<'_> {
        match self {
            Self::Link(token) => Proof::Link(token),
            Self::Code(challenge, code) => Proof::Code(*challenge, code),
        }
    }
}

/// The network that sign-ins are counted by: one address, or the /64 that one host of IPv6 has.
pub(crate) fn network(client: Option<IpAddr>) -> String {
    match client.map(|client| client.to_canonical()) {
        None => "unknown".to_owned(),
        Some(IpAddr::V4(address)) => address.to_string(),
        Some(IpAddr::V6(address)) => format!("{}/64", cut(address, 64)),
    }
}

/// Where a session is used from, as far as its owner needs it to tell it from others.
pub(crate) fn device(call: &Call) -> Device {
    let network = call.client.map(|client| Network::of(client).to_string());
    let network = network.unwrap_or_else(|| "unknown".to_owned());
    Device { network, browser: family(call.header("User-Agent").unwrap_or_default()).to_owned() }
}

fn cut(address: Ipv6Addr, bits: u32) -> Ipv6Addr {
    Ipv6Addr::from_bits(address.to_bits() >> (128 - bits) << (128 - bits))
}

/// The family of a browser: the first that its own name stands for, since most name others, too.
fn family(user_agent: &str) -> &'static str {
    const FAMILIES: [(&str, &str); 7] = [
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("CriOS/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ];
    let known = FAMILIES.iter().find(|(mark, _)| user_agent.contains(mark));
    known.map_or("other", |(_, family)| family)
}

#[cfg(test)]
mod tests {
    use super::{family, network};

    #[test]
    fn one_host_has_one_network_however_many_addresses_it_has() {
        let of = |text: &str| network(Some(text.parse().unwrap()));
        assert_eq!(of("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2:ffff::1"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
    }

    #[test]
    fn a_browser_is_told_by_its_own_name() {
        let edge = "Mozilla/5.0 (Windows NT 10.0) Chrome/130.0 Safari/537.36 Edg/130.0";
        assert_eq!(family(edge), "Edge");
        assert_eq!(family("Mozilla/5.0 (X11; rv:133.0) Gecko/20100101 Firefox/133.0"), "Firefox");
        assert_eq!(family("curl/8.5.0"), "curl");
        assert_eq!(family("\u{1f480}"), "other");
    }
}
