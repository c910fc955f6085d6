//! A keep-alive HTTP/1.1 client: one connection, one request at a time.

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, header};
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
    // A key, or the cookie of a session.
    key: String,
    csrf: String,
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
        Ok(Self { sender, host: host.to_owned(), key: key.to_owned(), csrf: String::new() })
    }

    /// Gets a path and returns the status and the answer's body.
    pub(crate) async fn get(&mut self, path: &str) -> Result<(StatusCode, Bytes), Failure> {
        let request = Request::get(path).body(Full::default())?;
        let (status, _, bytes) = self.send(request).await?;
        Ok((status, bytes))
    }

    /// Gets a file as browsers do, which take it compressed.
    pub(crate) async fn get_compressed(&mut self, path: &str) -> Result<Bytes, Failure> {
        let request = Request::get(path).header(header::ACCEPT_ENCODING, "gzip");
        Ok(self.send(request.body(Full::default())?).await?.2)
    }

    /// Posts JSON and returns the status and the answer's body.
    pub(crate) async fn post(
        &mut self,
        path: &str,
        body: &Value,
    ) -> Result<(StatusCode, Bytes), Failure> {
        let (status, _, bytes) = self.post_for_headers(path, body).await?;
        Ok((status, bytes))
    }

    /// Posts JSON and returns the headers of the answer, too.
    pub(crate) async fn post_for_headers(
        &mut self,
        path: &str,
        body: &Value,
    ) -> Result<(StatusCode, HeaderMap, Bytes), Failure> {
        let request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(serde_json::to_vec(body)?)))?;
        self.send(request).await
    }

    /// Shows this key or cookie from now on.
    pub(crate) fn show(&mut self, key: &str) {
        key.clone_into(&mut self.key);
    }

    /// Shows this with every change from now on, as a page of a session does.
    pub(crate) fn csrf(&mut self, csrf: String) {
        self.csrf = csrf;
    }

    async fn send(
        &mut self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, HeaderMap, Bytes), Failure> {
        let headers = request.headers_mut();
        headers.insert(header::HOST, self.host.parse()?);
        if self.key.starts_with("svc_live_") {
            headers.insert(header::AUTHORIZATION, format!("Bearer {}", self.key).parse()?);
        } else {
            headers.insert(header::COOKIE, self.key.parse()?);
            headers.insert(header::ORIGIN, format!("http://{}", self.host).parse()?);
            headers.insert("service-csrf", self.csrf.parse()?);
        }
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        Ok((status, headers, response.into_body().collect().await?.to_bytes()))
    }
}
