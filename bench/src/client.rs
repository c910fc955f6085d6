//! A keep-alive HTTP/1.1 client: one connection, one request at a time.

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::Failure;

/// One connection to the service.
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    key: String,
}

impl Client {
    /// Connects to the service at `host`, which is an address and a port.
    pub(crate) async fn connect(host: &str, key: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // The connection's own errors come back from its requests.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(Self { sender, host: host.to_owned(), key: key.to_owned() })
    }

    /// Gets a path and returns the status and the answer's body.
    pub(crate) async fn get(&mut self, path: &str) -> Result<(StatusCode, Bytes), Failure> {
        let request = Request::get(path).body(Full::default())?;
        self.send(request).await
    }

    /// Posts JSON and returns the status and the answer's body.
    pub(crate) async fn post(
        &mut self,
        path: &str,
        body: &Value,
    ) -> Result<(StatusCode, Bytes), Failure> {
        let request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(serde_json::to_vec(body)?)))?;
        self.send(request).await
    }

    async fn send(
        &mut self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), Failure> {
        let headers = request.headers_mut();
        headers.insert(header::HOST, self.host.parse()?);
        headers.insert(header::AUTHORIZATION, format!("Bearer {}", self.key).parse()?);
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        Ok((status, response.into_body().collect().await?.to_bytes()))
    }
}
