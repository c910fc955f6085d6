//! The row type of the route table: what a route is, and how a typed handler becomes one.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;

use crate::{
    access::{Access, AdmissionRequest},
    arrival::Arrival,
    call::Call,
    credential::Credential,
    error::ApiError,
    input::Input,
    reply::Reply,
    state::{State, Trust},
};

/// Routes in the order of the docs.
pub type Table<S> = Vec<Route<S>>;

type Endpoint<S> =
    Box<dyn Fn(Arc<S>, Arrival) -> BoxFuture<'static, Result<Reply, ApiError>> + Send + Sync>;

/// How long a handler may take to begin its answer, and whether it is one of few at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Ten seconds.
    Short,
    /// Ten seconds, for one of the few lists that a caller may have under way.
    Lists,
    /// The longest wait that a caller may ask for, and ten seconds.
    Waits,
}

impl Patience {
    const fn limit(self) -> Duration {
        match self {
            Self::Short | Self::Lists => Duration::from_secs(10),
            Self::Waits => Duration::from_secs(35),
        }
    }
}

/// One row of the table.
pub struct Route<S> {
    /// The method.
    pub method: &'static str,
    /// The path, parameters in braces.
    pub path: &'static str,
    /// The operation id of the interface description.
    pub operation: &'static str,
    /// The access rule's name.
    pub access: &'static str,
    /// Who passes the access rule.
    pub who: &'static str,
    /// What the route reads.
    pub input: Input,
    /// How long its handler may take.
    pub patience: Patience,
    endpoint: Endpoint<S>,
}

impl<S> std::fmt::Debug for Route<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Route").field("operation", &self.operation).finish_non_exhaustive()
    }
}

/// The first half of a row: what the caller names.
#[derive(Debug, Clone, Copy)]
pub struct RouteHead {
    method: &'static str,
    path: &'static str,
    operation: &'static str,
}

/// Begins a row.
pub const fn at(method: &'static str, path: &'static str, operation: &'static str) -> RouteHead {
    RouteHead { method, path, operation }
}

impl RouteHead {
    /// The row whose handler takes the caller that the access rule makes.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use web::*;
    /// # struct App;
    /// # struct Agent;
    /// # #[async_trait::async_trait]
    /// # impl State for App {
    /// #     type Holder = Agent;
    /// #     async fn holder(&self, _: &crypto::Secret<String>, _: Option<std::net::IpAddr>) -> Result<Option<Agent>, LookupError> {
    /// #         Ok(None)
    /// #     }
    /// # }
    /// const AGENTS: Access<Agent, Agent> = Access::holder("AGENTS", "agents", Ok);
    ///
    /// async fn send(_: Arc<App>, _: Agent, _: Call) -> Result<Reply, ApiError> {
    ///     Ok(Reply::ok(&"sent"))
    /// }
    /// at("POST", "/v1/actions", "send").with(AGENTS, NOTHING, Patience::Short, send);
    /// ```
    ///
    /// Another rule makes another caller, which this handler does not take:
    ///
    /// ```compile_fail,E0631
    /// # use std::sync::Arc;
    /// # use web::*;
    /// # struct App;
    /// # struct Agent;
    /// # #[async_trait::async_trait]
    /// # impl State for App {
    /// #     type Holder = Agent;
    /// #     async fn holder(&self, _: &crypto::Secret<String>, _: Option<std::net::IpAddr>) -> Result<Option<Agent>, LookupError> {
    /// #         Ok(None)
    /// #     }
    /// # }
    /// # async fn send(_: Arc<App>, _: Agent, _: Call) -> Result<Reply, ApiError> {
    /// #     Ok(Reply::ok(&"sent"))
    /// # }
    /// const PUBLIC: Access<Agent, ()> = Access::anyone("PUBLIC", "anybody", || ());
    ///
    /// at("POST", "/v1/actions", "send").with(PUBLIC, NOTHING, Patience::Short, send);
    /// ```
    pub fn with<S, C, H, F, E>(
        self,
        access: Access<S::Holder, C>,
        input: Input,
        patience: Patience,
        handler: H,
    ) -> Route<S>
    where
        S: State,
        C: Send + 'static,
        H: Fn(Arc<S>, C, Call) -> F + Copy + Send + Sync + 'static,
        F: Future<Output = Result<Reply, E>> + Send + 'static,
        E: Into<ApiError>,
    {
        let Self { method, path, operation } = self;
        let endpoint: Endpoint<S> = Box::new(move |state: Arc<S>, mut arrival| {
            Box::pin(async move {
                if access.looks() {
                    arrival.shown = Credential::shown(&arrival.head, &arrival.site, &*state)?;
                }
                let trust = Trust::of(method);
                let asked = AdmissionRequest {
                    shown: arrival.shown.as_ref(),
                    client: arrival.client,
                    patience,
                    trust,
                };
                let (caller, place) = access.admit(asked, &*state).await?;
                let (call, _taken) = arrival.read(input, place.whose()).await?;
                if let (Some(credential), true) = (&call.shown, call.is_form()) {
                    credential.form(call.form_csrf()?.as_deref(), &*state)?;
                }
                let answer = handler(state, caller, call);
                let Ok(answer) = tokio::time::timeout(patience.limit(), answer).await else {
                    tracing::error!(operation, "a handler timed out");
                    return Err(given_up(method));
                };
                // A list that is written while it is made is under way until it was read.
                answer.map(|reply| reply.holding(place)).map_err(Into::into)
            })
        });
        let (name, who) = (access.name, access.who);
        Route { method, path, operation, access: name, who, input, patience, endpoint }
    }
}

impl<S> Route<S> {
    pub(crate) async fn call(&self, state: &Arc<S>, arrival: Arrival) -> Result<Reply, ApiError> {
        (self.endpoint)(Arc::clone(state), arrival).await
    }
}

/// What is said where a handler ran out of time. What it had begun goes on, so of a write nobody
/// can say now whether it is recorded.
fn given_up(method: &str) -> ApiError {
    match method {
        "GET" => ApiError::unavailable("the request timed out"),
        _ => ApiError::unavailable(
            "the request timed out, and it is not known whether anything was recorded; send it \
             again with the same `Idempotency-Key`",
        ),
    }
}
