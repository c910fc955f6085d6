//! One matched request: what the handlers read of it.
//!
//! By the time a handler sees a [`Call`], its caller is admitted, its query known and its body
//! complete and within the route's bound.

use std::{net::IpAddr, str::FromStr};

use bytes::Bytes;
use http::HeaderMap;
use model::RequestId;

use crate::{
    arrival::is_form,
    credential::Credential,
    error::ApiError,
    fields::Fields,
    listener::StreamSwitch,
    query::{Param, Query},
    text::Text,
};

/// What a form of a session carries beside its members.
const CSRF: &str = "csrf";
/// The most characters of a reference that a `Service-` header carries.
const MAX_REFERENCE: usize = 256;
/// The most characters of an idempotency key.
const MAX_IDEMPOTENCY_KEY: usize = 255;

/// The parameters of a path, by name and undecoded text.
pub(crate) type Params = Vec<(String, String)>;

/// A request as its handler sees it.
#[derive(Debug)]
pub struct Call {
    /// The request's id.
    pub request: RequestId,
    /// The headers.
    pub headers: HeaderMap,
    /// The query.
    pub query: Query,
    pub(crate) params: Params,
    /// What was shown of who sent it, where the route looks at it.
    pub shown: Option<Credential>,
    /// Where it came from, where it came over a socket.
    pub client: Option<IpAddr>,
    /// The body, whole and within its bounds.
    pub body: Bytes,
    pub(crate) connection: Option<StreamSwitch>,
}

impl Call {
    /// A path parameter as a `T`; one that is no `T` names no object, which is a 404.
    pub fn param<T: FromStr>(&self, name: &str) -> Result<T, ApiError> {
        self.params
            .iter()
            .find(|(known, _)| known == name)
            .and_then(|(_, raw)| Text::of_path(raw)?.as_str().parse().ok())
            .ok_or_else(ApiError::not_found)
    }

    /// The members of the body; of none there are none. A route that takes no form has none here.
    ///
    /// What a form carries for the session of its page is none of them: it was looked at before.
    pub fn fields(&self) -> Result<Fields, ApiError> {
        match self.body.is_empty() {
            true => Ok(Fields::none()),
            false if self.is_form() => {
                let mut fields = Fields::of_form(&self.body)?;
                fields.any(CSRF);
                Ok(fields)
            }
            false => Fields::of_body(&self.body),
        }
    }

    /// What a form carries for the session of its page.
    pub(crate) fn form_csrf(&self) -> Result<Option<String>, ApiError> {
        Fields::of_form(&self.body)?.optional(CSRF)
    }

    /// A read that whoever sent this asks for beside it, as a page does that shows what several reads
    /// answer: of these parameters of a path, and of a query that takes these.
    pub fn asking(
        &self,
        params: &[(&str, &str)],
        (query, takes): (&str, &'static [Param]),
    ) -> Result<Self, ApiError> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Ok(Self {
            request: self.request,
            headers: HeaderMap::new(),
            query: Query::read(Some(query).filter(|text| !text.is_empty()), takes)?,
            params: params.iter().map(owned).collect(),
            shown: self.shown.clone(),
            client: self.client,
            body: Bytes::new(),
            connection: None,
        })
    }

    /// The same with this JSON as its body.
    pub fn carrying(self, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// Whether the body is a form, which a page sent that waits for another page.
    pub fn is_form(&self) -> bool {
        is_form(&self.headers)
    }

    /// The members of the JSON body but one, and that one's text, for whoever reads it otherwise.
    pub fn fields_beside(&self, name: &str) -> Result<(Fields, Option<&[u8]>), ApiError> {
        Fields::of_body_beside(&self.body, name)
    }

    /// The text of a header that the framing rules let stand once.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The caller's idempotency key.
    pub fn idempotency_key(&self) -> Result<Option<String>, ApiError> {
        let Some(key) = self.header("Idempotency-Key") else { return Ok(None) };
        let fits = (1..=MAX_IDEMPOTENCY_KEY).contains(&key.len())
            && key.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if fits {
            return Ok(Some(key.to_owned()));
        }
        let message = "expected 1 to 255 printable ASCII characters";
        Err(ApiError::invalid("Idempotency-Key", message))
    }

    /// A reference that a `Service-` header carries.
    pub fn reference(&self, name: &'static str) -> Result<Option<String>, ApiError> {
        let Some(text) = self.one_service_header(name)? else { return Ok(None) };
        let fits = (1..=MAX_REFERENCE).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits {
            return Ok(Some(text.to_owned()));
        }
        let message = "expected 1 to 256 visible ASCII characters without spaces";
        Err(ApiError::bad_service_header(name, message))
    }

    /// A `Service-` header that stands at most once.
    pub fn one_service_header(&self, name: &'static str) -> Result<Option<&str>, ApiError> {
        let mut values = self.headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(value), None) => Ok(value.to_str().ok()),
            (Some(_), Some(_)) => {
                Err(ApiError::bad_service_header(name, "this header may appear only once"))
            }
        }
    }

    /// Makes the connection one for a live stream.
    pub fn will_stream(&self) {
        if let Some(connection) = &self.connection {
            connection.turn_on();
        }
    }
}
