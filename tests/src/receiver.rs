//! A receiver of webhooks, as good or bad as a test wants it.

use std::{
    collections::{BTreeMap, HashSet},
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// How a receiver answers.
#[derive(Debug, Clone, Copy)]
pub enum Manner {
    /// It takes everything.
    Takes,
    /// It never answers.
    Hangs,
    /// It answers with this status; a redirect leads to a metadata address.
    Answers(u16),
    /// It closes the connection in the middle of the request's answer.
    Resets,
    /// It takes everything except the first attempt of about every fifth event.
    Falters,
    /// It answers with one header after the other, and never ends.
    Drips,
    /// It takes everything, and its answer has no end.
    SendsAGigabyte,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Seen {
    headers: BTreeMap<String, String>,
    /// Its body as text.
    pub body: String,
}

impl Seen {
    /// The header of this name in lower case; empty without one.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Whether this secret alone signed it.
    pub fn is_signed(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let (id, at) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        let signed = format!("{id}.{at}.{}", self.body);
        let expected = STANDARD.encode(crypto::hmac_sha256(&key, signed.as_bytes()));
        self.header("webhook-signature") == format!("v1,{expected}")
    }
}

#[derive(Debug)]
struct Shared {
    manner: Mutex<Manner>,
    kept: Mutex<Kept>,
}

/// What came.
#[derive(Debug, Default)]
struct Kept {
    all: Vec<Seen>,
    /// The ids of these: a receiver of very many events looks through none of them for each new one,
    /// since whoever posts yields to it.
    ids: HashSet<String>,
}

impl Shared {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A receiver that listens.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Receiver {
    /// Listens on a free port of the loopback address.
    pub async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { manner: Mutex::new(manner), kept: Mutex::default() });
        let serving = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&serving);
                tokio::spawn(async move {
                    // A client that goes away is no fault of a receiver.
                    let _ = serve(stream, &shared).await;
                });
            }
        });
        Self { address, shared, task }
    }

    /// Where it takes deliveries.
    pub fn url(&self) -> String {
        format!("http://{}/hook?of=test", self.address)
    }

    /// Answers like this from now on.
    pub fn now(&self, manner: Manner) {
        *self.shared.manner.lock().unwrap_or_else(PoisonError::into_inner) = manner;
    }

    /// The number of requests so far.
    pub fn count(&self) -> usize {
        self.shared.kept().all.len()
    }

    /// Every request so far, in the order in which they came.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.kept().all.clone()
    }
}

async fn serve(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut read = Vec::new();
    loop {
        let Some(seen) = request(&mut stream, &mut read).await? else { return Ok(()) };
        let falters = {
            let mut kept = shared.kept();
            let id = seen.header("webhook-id").to_owned();
            let of_these = is_a_fifth(&id);
            let is_new = kept.ids.insert(id);
            kept.all.push(seen);
            of_these && is_new
        };
        let manner = *shared.manner.lock().unwrap_or_else(PoisonError::into_inner);
        match manner {
            Manner::Falters if falters => {
                stream.write_all(b"HTTP/1.1 503 So\r\ncontent-length: 0\r\n\r\n").await?;
            }
            Manner::Takes | Manner::Falters => {
                stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await?;
            }
            Manner::Hangs => std::future::pending().await,
            Manner::Answers(status) => {
                let answer = format!(
                    "HTTP/1.1 {status} So\r\nlocation: http://169.254.169.254/\r\n\
                     retry-after: 1\r\ncontent-length: 0\r\n\r\n"
                );
                stream.write_all(answer.as_bytes()).await?;
            }
            Manner::Resets => {
                stream.write_all(b"HTTP/1.1 200 O").await?;
                stream.set_zero_linger()?;
                return Ok(());
            }
            Manner::Drips => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n").await?;
                let mut drips = tokio::time::interval(Duration::from_millis(100));
                loop {
                    drips.tick().await;
                    stream.write_all(b"x: y\r\n").await?;
                }
            }
            Manner::SendsAGigabyte => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n").await?;
                let part = vec![b'x'; 64 * 1024];
                for _ in 0..16 * 1024 {
                    stream.write_all(&part).await?;
                }
            }
        }
    }
}

/// Whether the id is one of those whose first attempt a receiver that falters refuses.
pub fn is_a_fifth(id: &str) -> bool {
    id.bytes().map(usize::from).sum::<usize>().is_multiple_of(5)
}

/// The next request of a connection; nothing when it ended.
async fn request(stream: &mut TcpStream, read: &mut Vec<u8>) -> std::io::Result<Option<Seen>> {
    loop {
        if let Some(end) = read.windows(4).position(|part| part == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).into_owned();
            let lines = head.lines().skip(1).filter_map(|line| line.split_once(": "));
            let headers: BTreeMap<_, _> =
                lines.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
            let length: usize = headers["content-length"].parse().unwrap();
            while read.len() < end + 4 + length {
                if stream.read_buf(read).await? == 0 {
                    return Ok(None);
                }
            }
            let rest = read.split_off(end + 4 + length);
            let body = String::from_utf8(read.split_off(end + 4)).unwrap();
            *read = rest;
            return Ok(Some(Seen { headers, body }));
        }
        if stream.read_buf(read).await? == 0 {
            return Ok(None);
        }
    }
}
