//! A caller of the HTTP interface, as the demo's agent is one: one request per connection.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use crypto::Secret;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::exit::Failure;

const PATIENCE: Duration = Duration::from_secs(30);
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Calls the interface with an agent's key.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) address: SocketAddr,
    pub(super) key: Secret<String>,
}

/// What the service answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
    /// Whether it repeats what an earlier request with the same key was answered.
    pub(super) is_replayed: bool,
}

impl Answer {
    /// The body as JSON.
    pub(super) fn json(&self) -> Result<Value, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            Failure::internal(format!(
                "the service returned {} with a body that is not valid JSON: {error}",
                self.status
            ))
        })
    }
}

impl Client {
    /// Reads a resource.
    pub(super) async fn get(&self, path: &str) -> Result<Answer, Failure> {
        self.send((Method::GET, path), Bytes::new(), None).await
    }

    /// Posts a JSON body.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Answer, Failure> {
        self.send((Method::POST, path), Bytes::from(body.to_string()), None).await
    }

    /// Posts a JSON body under an idempotency key.
    pub(super) async fn post_once(
        &self,
        path: &str,
        body: &Value,
        key: &str,
    ) -> Result<Answer, Failure> {
        self.send((Method::POST, path), Bytes::from(body.to_string()), Some(key)).await
    }

    async fn send(
        &self,
        (method, path): (Method, &str),
        body: Bytes,
        key: Option<&str>,
    ) -> Result<Answer, Failure> {
        let named = format!("{method} {path}");
        let exchange = self.exchange((method, path), body, key);
        let answer = tokio::time::timeout(PATIENCE, exchange).await;
        match answer {
            Ok(answer) => {
                answer.map_err(|error| Failure::internal(format!("could not {named}: {error}")))
            }
            Err(_) => Err(Failure::internal(format!("{named}: no response within {PATIENCE:?}"))),
        }
    }

    async fn exchange(
        &self,
        (method, path): (Method, &str),
        body: Bytes,
        key: Option<&str>,
    ) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
        let mut request = Request::builder()
            .method(&method)
            .uri(path)
            .header(header::HOST, self.address.to_string())
            .header(header::AUTHORIZATION, format!("Bearer {}", self.key.expose()));
        if method == Method::POST {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let stream = TcpStream::connect(self.address).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let response = sender.send_request(request.body(Full::new(body))?).await?;
        let status = response.status();
        let is_replayed = response.headers().contains_key("Service-Idempotent-Replayed");
        let body = Limited::new(response.into_body(), MOST_BYTES).collect().await?.to_bytes();
        Ok(Answer { status, body, is_replayed })
    }
}
