//! The row type of the route table: what a route is, and how a typed handler becomes one.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;

use crate::{
    access::{Access, bearer},
    arrival::{Arrival, BodyRule},
    call::Call,
    error::ApiError,
    query::Param,
    reply::Reply,
    router::Front,
};

/// Routes in the order of the docs.
pub type Table<S> = Vec<Route<S>>;

type Endpoint<S> = Box<
    dyn Fn(Arc<Front>, Arc<S>, Arrival) -> BoxFuture<'static, Result<Reply, ApiError>>
        + Send
        + Sync,
>;

/// How long a handler may take to begin its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Ten seconds.
    Short,
    /// The longest wait that a caller may ask for, and ten seconds.
    Waits,
}

impl Patience {
    const fn limit(self) -> Duration {
        match self {
            Self::Short => Duration::from_secs(10),
            Self::Waits => Duration::from_secs(35),
        }
    }
}

/// What a route reads of a request.
#[derive(Debug, Clone, Copy)]
pub struct Input {
    /// The body.
    pub body: BodyRule,
    /// The query parameters.
    pub query: &'static [Param],
}

/// Reads no body and no query.
pub const NOTHING: Input = Input { body: BodyRule::None, query: &[] };

/// Reads these query parameters and no body.
pub const fn query(query: &'static [Param]) -> Input {
    Input { body: BodyRule::None, query }
}

/// Reads a JSON object of at most this many bytes and no query.
pub const fn json(limit: usize) -> Input {
    Input { body: BodyRule::Json(limit), query: &[] }
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
pub struct Place {
    method: &'static str,
    path: &'static str,
    operation: &'static str,
}

/// Begins a row.
pub const fn at(method: &'static str, path: &'static str, operation: &'static str) -> Place {
    Place { method, path, operation }
}

impl Place {
    /// Returns the row whose handler takes the caller that the access rule makes.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use http_api::{*, access::*};
    /// async fn send(_: Arc<()>, caller: AgentCaller, _: Call) -> Result<Reply, ApiError> {
    ///     Reply::ok(&caller.0.agent)
    /// }
    /// at("POST", "/v1/actions", "send").with(AGENT_EXECUTE, NOTHING, Patience::Short, send);
    /// ```
    ///
    /// Another rule makes another caller, which this handler does not take:
    ///
    /// ```compile_fail,E0631
    /// # use std::sync::Arc;
    /// # use http_api::{*, access::*};
    /// # async fn send(_: Arc<()>, caller: AgentCaller, _: Call) -> Result<Reply, ApiError> {
    /// #     Reply::ok(&caller.0.agent)
    /// # }
    /// at("POST", "/v1/actions", "send").with(PUBLIC, NOTHING, Patience::Short, send);
    /// ```
    pub fn with<S, C, H, F>(
        self,
        access: Access<C>,
        input: Input,
        patience: Patience,
        handler: H,
    ) -> Route<S>
    where
        S: Send + Sync + 'static,
        C: Send + 'static,
        H: Fn(Arc<S>, C, Call) -> F + Copy + Send + Sync + 'static,
        F: Future<Output = Result<Reply, ApiError>> + Send + 'static,
    {
        let Self { method, path, operation } = self;
        let endpoint: Endpoint<S> = Box::new(move |front, state, arrival| {
            Box::pin(async move {
                let bearer = bearer(&arrival.head.headers);
                let caller = access.admit(bearer, Arc::clone(&front.keys)).await?;
                let call = arrival.read(input).await?;
                let answer = handler(state, caller, call);
                tokio::time::timeout(patience.limit(), answer).await.unwrap_or_else(|_| {
                    tracing::error!(operation, "a handler ran out of time");
                    Err(ApiError::unavailable("the answer took too long"))
                })
            })
        });
        let (name, who) = (access.name, access.who);
        Route { method, path, operation, access: name, who, input, patience, endpoint }
    }
}

impl<S> Route<S> {
    pub(crate) async fn call(
        &self,
        front: &Arc<Front>,
        state: &Arc<S>,
        arrival: Arrival,
    ) -> Result<Reply, ApiError> {
        (self.endpoint)(Arc::clone(front), Arc::clone(state), arrival).await
    }
}
