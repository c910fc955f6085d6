//! Open event streams, held and read as an agent's own clients would.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use crate::Failure;

/// How many streams one key may hold.
const OF_ONE_KEY: usize = 8;

/// Streams that are open; they close when this is dropped.
pub(crate) struct Streams(JoinSet<()>);

impl Streams {
    /// How many keys so many streams need.
    pub(crate) fn keys_for(streams: usize) -> usize {
        streams.div_ceil(OF_ONE_KEY)
    }

    /// Opens this many streams, each of which has said hello. They ask for an event that the loads
    /// do not make: every turn wakes them, and none has anything to send.
    pub(crate) async fn open(host: &str, keys: &[String], count: usize) -> Result<Self, Failure> {
        let mut open = JoinSet::new();
        for key in keys.iter().flat_map(|key| [key; OF_ONE_KEY]).take(count) {
            let mut stream = TcpStream::connect(host).await?;
            let request = format!(
                "GET /v1/events?types=agent.stopped HTTP/1.1\r\nhost: {host}\r\n\
                 authorization: Bearer {key}\r\naccept: text/event-stream\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).await?;
            let mut answer = Vec::new();
            while !answer.windows(5).any(|part| part == b"hello") {
                if stream.read_buf(&mut answer).await? == 0 {
                    let answer = String::from_utf8_lossy(&answer);
                    return Err(format!("a stream was not opened: {answer}").into());
                }
            }
            open.spawn(async move {
                let mut sink = [0; 256];
                while matches!(stream.read(&mut sink).await, Ok(read) if read > 0) {}
            });
        }
        Ok(Self(open))
    }

    /// How many are open still.
    pub(crate) fn count(&mut self) -> usize {
        while self.0.try_join_next().is_some() {}
        self.0.len()
    }
}
