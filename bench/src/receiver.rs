//! Requests of one connection as a receiver reads them that does nothing else: its own cost is to be no
//! part of what is measured.

use std::io::Result;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// The requests of a connection, one after the other.
pub(crate) struct Requests {
    stream: TcpStream,
    read: Vec<u8>,
    /// How much of what was read is the request that was handed out last.
    taken: usize,
}

impl Requests {
    pub(crate) fn of(stream: TcpStream) -> Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, read: Vec::new(), taken: 0 })
    }

    /// The head and the body of the next one; nothing once the connection has ended.
    pub(crate) async fn next(&mut self) -> Result<Option<(String, &[u8])>> {
        self.read.drain(..self.taken);
        self.taken = 0;
        let end = loop {
            if let Some(end) = self.read.windows(4).position(|part| part == b"\r\n\r\n") {
                break end;
            }
            if self.stream.read_buf(&mut self.read).await? == 0 {
                return Ok(None);
            }
        };
        let head = String::from_utf8_lossy(self.read.get(..end).unwrap_or_default()).into_owned();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then(|| value.parse().ok())?
        });
        let whole = end + 4 + length.unwrap_or(0);
        while self.read.len() < whole {
            if self.stream.read_buf(&mut self.read).await? == 0 {
                return Ok(None);
            }
        }
        self.taken = whole;
        Ok(Some((head, self.read.get(end + 4..whole).unwrap_or_default())))
    }

    pub(crate) async fn answer(&mut self, answer: &[u8]) -> Result<()> {
        self.stream.write_all(answer).await
    }
}
