//! The pages: each is a template and the reads of the interface that it shows, asked in the name of
//! whoever is signed in. A page holds nothing that its reader could not ask the interface for, and
//! decides nothing: its forms go to the interface.

pub(crate) mod approvals;
pub(crate) mod connectors;
mod files;
mod lists;
mod people;
pub(crate) mod refused;
pub(crate) mod rooms;
pub(crate) mod settings;
pub(crate) mod sign_in;
pub(crate) mod views;
pub(crate) mod webhooks;

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
};

pub(crate) use files::file;
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_FRAME_OPTIONS},
};
use pages::Pages;
use serde_json::{Map, Value, json};
use web::{ApiError, Call, Param, Reply};

use crate::{
    access::{APPROVAL_READERS, Access, Principal, VIEWERS, Visitor},
    app::App,
    handlers::{approvals as questions, org, sessions},
    refusal::{Answer, CallError},
};
use views::{Me, Page, Shell, Waiting};

/// Every page, made when the first is asked for. Tests fill each, so that it cannot fail is seen.
static PAGES: LazyLock<Result<Pages, String>> =
    LazyLock::new(|| Pages::new().map_err(|error| error.to_string()));

/// What the badge of what waits counts to.
const COUNTED: &str = "mine=true&status=pending&limit=20";

/// Somebody on a page.
pub(crate) struct Visit {
    app: Arc<App>,
    visitor: Visitor,
    call: Call,
}

/// Parameters of a path.
type Params<'a> = &'a [(&'a str, &'a str)];
/// A query and the parameters that it may have.
type Query<'a> = (&'a str, &'static [Param]);

impl Visit {
    pub(crate) fn new(app: Arc<App>, visitor: Visitor, call: Call) -> Self {
        Self { app, visitor, call }
    }

    /// What a read answers them, by its own rule.
    async fn read<C, H, F>(
        &self,
        (rule, handler): (Access<C>, H),
        params: Params<'_>,
        query: Query<'_>,
    ) -> Result<Value, CallError>
    where
        H: Fn(Arc<App>, C, Call) -> F,
        F: Future<Output = Answer>,
    {
        self.answer((rule, handler), self.call.asking(params, query)?).await
    }

    /// What a read answers them that is sent a body.
    async fn answer<C, H, F>(
        &self,
        (rule, handler): (Access<C>, H),
        call: Call,
    ) -> Result<Value, CallError>
    where
        H: Fn(Arc<App>, C, Call) -> F,
        F: Future<Output = Answer>,
    {
        let caller = rule.of(Principal::Person(Box::new(self.visitor.person.clone())))?;
        let reply = handler(Arc::clone(&self.app), caller, call).await?;
        Ok(reply.into_json().await.ok_or_else(ApiError::internal)?)
    }

    /// The same, and nothing of what there is not or what they may not read.
    async fn read_if<C, H, F>(
        &self,
        read: (Access<C>, H),
        params: Params<'_>,
        query: Query<'_>,
    ) -> Result<Value, CallError>
    where
        H: Fn(Arc<App>, C, Call) -> F,
        F: Future<Output = Answer>,
    {
        optional(self.read(read, params, query).await)
    }

    /// The page, in the shell of the Console.
    async fn page<P: Page>(&self, place: &'static str, page: &P) -> Answer {
        let shell = self.shell(place).await?;
        let own = shell.me.email.clone();
        let mut shown = members::<P>(page)?;
        shown.insert("shell".to_owned(), json!(shell));
        let people = self.people(&shown, &own).await?;
        shown.insert("people".to_owned(), people);
        Ok(filled(&self.app, P::TEMPLATE, Referrer::SameOrigin, &shown)?)
    }

    /// What stands around every page: the place, the org, the person and what waits for them.
    async fn shell(&self, place: &'static str) -> Result<Shell, CallError> {
        let (session, seat) = (&self.visitor.person.session, &self.visitor.seat);
        let address = sessions::address(&self.app, &self.visitor.person).await?;
        let org = self.read((VIEWERS, org::show), &[], NO_QUERY).await?;
        let listed = (COUNTED, crate::wire::approvals::LIST);
        let waiting = self.read((APPROVAL_READERS, questions::list), &[], listed).await?;
        let count = waiting.get("data").and_then(Value::as_array).map_or(0, Vec::len);
        let more = waiting.get("has_more") == Some(&Value::Bool(true));
        Ok(Shell {
            place,
            org,
            me: Me {
                email: address.as_str().to_owned(),
                user: session.user,
                member: seat.member,
                role: seat.role,
                can_approve: seat.can_approve,
                is_fresh: session.is_fresh,
            },
            waiting: Waiting { count, more },
            csrf: self.csrf()?,
        })
    }

    fn csrf(&self) -> Result<String, ApiError> {
        let token = sessions::token(&self.call)?;
        Ok(self.app.sign_in.people.csrf(token).expose().clone())
    }

    /// What the address says of the page, where it says anything.
    fn asked(&self, name: &str) -> Option<&str> {
        self.call.query.text(name).filter(|text| !text.is_empty())
    }

    /// The parameters of the address but for these, where they are not empty, as forms send every
    /// field: by name for the page, and as a query for the read behind it.
    fn filters_but(&self, others: &[&str]) -> (Shown, String) {
        let is_sent = |(name, text): &(&str, &str)| !text.is_empty() && !others.contains(name);
        let sent = self.call.query.pairs().filter(is_sent);
        let sent: Vec<_> = sent.map(|(name, text)| (name, whole_moment(name, text))).collect();
        let by_name = sent.iter().map(|(name, text)| ((*name).to_owned(), (&**text).into()));
        let query = sent.iter().map(|(name, text)| parameter(name, text));
        (by_name.collect(), query.collect())
    }
}

/// The value of a parameter as the interface takes it: the field of a form has moments without an
/// offset, and perhaps without seconds, and the pages tell and take them in UTC.
fn whole_moment<'a>(name: &str, text: &'a str) -> Cow<'a, str> {
    let is_without_offset = name.starts_with("created_at[")
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"-T:.".contains(&byte))
        && text.matches('-').count() == 2;
    match text.split_once('T') {
        Some((_, clock)) if is_without_offset => {
            let seconds = if clock.len() == "00:00".len() { ":00" } else { "" };
            format!("{text}{seconds}Z").into()
        }
        _ => text.into(),
    }
}

/// The query of a read that takes none.
const NO_QUERY: Query<'static> = ("", &[]);

/// What there is not, what its reader may not ask for, and what the service has no time for now.
const UNTOLD: [StatusCode; 3] =
    [StatusCode::NOT_FOUND, StatusCode::FORBIDDEN, StatusCode::TOO_MANY_REQUESTS];

fn optional(answer: Result<Value, CallError>) -> Result<Value, CallError> {
    answer.or_else(|error| {
        let error = ApiError::from(error);
        if UNTOLD.contains(&error.status()) { Ok(Value::Null) } else { Err(error.into()) }
    })
}

/// What a page shows, by the names that its template has for it.
type Shown = Map<String, Value>;

/// The members of a page.
fn members<P: Page>(page: &P) -> Result<Shown, ApiError> {
    match serde_json::to_value(page) {
        Ok(Value::Object(members)) => Ok(members),
        // Every page is a struct of parts that have a form.
        Ok(_) | Err(_) => Err(ApiError::internal()),
    }
}

/// A text of an answer, where it has one of this name.
fn text<'a>(answer: &'a Value, name: &str) -> Option<&'a str> {
    answer.get(name)?.as_str()
}

/// A parameter of a query, and what parts it from the next.
fn parameter(name: &str, text: &str) -> String {
    format!("{}={}&", pages::encoded(name), pages::encoded(text))
}

/// Whom a page tells where its reader came from.
#[derive(Debug, Clone, Copy)]
enum Referrer {
    /// Pages of this site, which forms of a session are told apart by.
    SameOrigin,
    /// Nobody: a secret stands in the address.
    Nobody,
}

/// A page that stands by itself.
fn page<P: Page>(app: &App, referrer: Referrer, page: &P) -> Result<Reply, ApiError> {
    filled(app, P::TEMPLATE, referrer, &members(page)?)
}

/// The template, filled with what it shows.
fn filled(app: &App, template: &str, referrer: Referrer, shown: &Shown) -> Result<Reply, ApiError> {
    let html = PAGES.as_ref().map_err(Clone::clone).and_then(|pages| {
        let filled = pages.fill((area(template), template), app.clock.now(), shown);
        filled.map_err(|error| model::causes(&error))
    });
    let html = html.map_err(|error| {
        tracing::error!(template, error, "a page could not be made");
        ApiError::internal()
    })?;
    let referrer = match referrer {
        Referrer::SameOrigin => "same-origin",
        Referrer::Nobody => "no-referrer",
    };
    Ok(Reply::bytes(StatusCode::OK, "text/html; charset=utf-8", html)
        .with(CONTENT_SECURITY_POLICY, HeaderValue::from_static(pages::CONTENT_SECURITY_POLICY))
        .with(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"))
        .with(REFERRER_POLICY, HeaderValue::from_static(referrer)))
}

/// The part of the site that a page belongs to.
fn area(template: &str) -> &str {
    match template.split_once('/') {
        Some((area, _)) => area,
        None if template == "approve.html" => "approve",
        None => "auth",
    }
}
