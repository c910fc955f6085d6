//! How webhooks leave: over the guarded way out, to addresses under TLS.

use std::{io, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use delivery::{Post, Sender, UrlError};
use egress::{Egress, PrivateNetworks};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use model::{DeliveryError, causes};
use upstream::{Address, Client, Limits, Reuse, Trust, UpstreamError};

/// What is read of an answer's body, which nobody looks at: it ends the answer, and no more.
const ANSWER_BYTES: usize = 1024;
const USER_AGENT: &str = concat!("service-webhooks/", env!("CARGO_PKG_VERSION"));

/// Posts events over the guarded way out.
#[derive(Debug)]
pub(crate) struct WebhookSender {
    client: Client,
    limits: Limits,
}

impl WebhookSender {
    /// A sender whose tries take no longer than this.
    pub(crate) fn new(egress: Egress, timeout: Duration) -> io::Result<Self> {
        let client = Client::new(egress, &Trust::default(), timeout).map_err(io::Error::other)?;
        Ok(Self::over(client, timeout))
    }

    /// A sender over this client.
    pub(crate) fn over(client: Client, timeout: Duration) -> Self {
        let limits = Limits { whole: timeout, idle: timeout, answer_bytes: ANSWER_BYTES };
        Self { client, limits }
    }

    fn may_be_plain(&self) -> bool {
        self.client.egress().private_networks() == PrivateNetworks::Allowed
    }
}

#[async_trait]
impl Sender for WebhookSender {
    async fn check(&self, url: &str) -> Result<(), UrlError> {
        let malformed = || {
            UrlError::Malformed(
                "an address such as `https://example.com/hooks`, without user and fragment, of at \
                 most 2048 bytes"
                    .to_owned(),
            )
        };
        let address = Address::parse(url).map_err(|_| malformed())?;
        if !address.is_secure() && !self.may_be_plain() {
            return Err(malformed());
        }
        let vetted = self.client.egress().vet(address.host(), address.port()).await;
        vetted.map(drop).map_err(|error| UrlError::Refused(causes(&error)))
    }

    async fn post(&self, post: Post<'_>) -> Result<u16, DeliveryError> {
        // An address that was kept was judged before; it is judged again when it is dialled.
        let address = Address::parse(post.url).map_err(|_| DeliveryError::EgressRefused)?;
        let headers = headers(&post).map_err(|_| DeliveryError::Connection)?;
        let body = Bytes::copy_from_slice(post.body);
        let to = (Method::POST, &address);
        let sent = self.client.send(to, (headers, body), (&self.limits, Reuse::Kept)).await;
        sent.map(|answer| answer.status.as_u16()).map_err(|error| class(&error))
    }
}

fn headers(post: &Post<'_>) -> Result<HeaderMap, header::InvalidHeaderValue> {
    let mut headers = HeaderMap::with_capacity(6);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    let own = [
        ("webhook-id", post.id.to_string()),
        ("webhook-timestamp", post.timestamp.to_string()),
        ("webhook-signature", post.signature.to_owned()),
        ("service-event-type", post.kind.to_string()),
    ];
    for (name, value) in own {
        headers.insert(HeaderName::from_static(name), HeaderValue::try_from(value)?);
    }
    Ok(headers)
}

fn class(error: &UpstreamError) -> DeliveryError {
    match error {
        UpstreamError::Refused(_) => DeliveryError::EgressRefused,
        UpstreamError::Unreachable(_) => DeliveryError::Unreachable,
        UpstreamError::Tls { .. } => DeliveryError::Tls,
        UpstreamError::Late { .. } => DeliveryError::Timeout,
        UpstreamError::Broken { .. } => DeliveryError::Connection,
    }
}
