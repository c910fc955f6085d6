//! What a read costs by a session, beside the same read by an org key, in turns.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    Failure,
    client::Client,
    gate::{Ground, start},
    options::{Options, Size},
    service::Demo,
};

const EMAIL: &str = "bench@example.com";
/// A read of one row.
const READ: &str = "/v1/policies/active";
const ROUNDS: usize = 8;
const ROUND: Size<Duration> =
    Size { full: Duration::from_secs(2), smoke: Duration::from_millis(50) };
/// How much of a read by key one by a session may cost.
const AIM: f64 = 1.2;

/// Signs somebody in, reads by both and prints the ratio.
pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Ground { folder, demo, service } = start(&options).await?;
    let key = demo.made(&["key", "create", "--read-only"]).await?;
    let session = signed_in(&demo, &service.host, &folder.join("service")).await?;
    let mut spans = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (credential, spans) in [&key, &session].into_iter().zip(&mut spans) {
            let mut client = Client::connect(&service.host, credential).await?;
            spans.push(read_for(&mut client, ROUND.at(options.scale)).await?);
        }
    }
    let [key, session] = spans.map(|mut spans| {
        spans.sort_unstable();
        spans.get(ROUNDS / 2).copied().unwrap_or_default()
    });
    let ratio = session.as_secs_f64() / key.as_secs_f64();
    println!("| `GET {READ}` | each (median of {ROUNDS} rounds in turns) | x key |\n|---|---|---|");
    println!("| by an org key | {} us | 1 |", key.as_micros());
    println!("| by a session | {} us | {ratio:.2} (aim {AIM}) |", session.as_micros());
    service.stop().await?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// How long a read takes, of as many as fit into this span.
async fn read_for(client: &mut Client, span: Duration) -> Result<Duration, Failure> {
    let (began, mut reads) = (Instant::now(), 0);
    while began.elapsed() < span {
        let (status, answer) = client.get(READ).await?;
        if status != StatusCode::OK {
            return Err(format!("{READ} was answered {status} {answer:?}").into());
        }
        reads += 1;
    }
    Ok(began.elapsed() / reads)
}

/// The cookie of an owner's session, by the code of the mail in the demo's outbox.
pub(crate) async fn signed_in(demo: &Demo, host: &str, folder: &Path) -> Result<String, Failure> {
    let link = demo.made(&["owner", "invite", EMAIL]).await?;
    let token = link.split_once("invite=").ok_or("no invitation")?.1;
    let mut client = Client::connect(host, "").await?;
    let (asked, cookie) = client.page("/v1/auth/start", &json!({ "email": EMAIL }), "").await?;
    let challenge = asked["id"].as_str().ok_or("no challenge")?;
    let proof = json!({ "challenge": challenge, "code": code(folder, challenge).await? });
    let (session, cookie) = client.page("/v1/auth/confirm", &proof, &cookie).await?;
    let csrf = session["csrf"].as_str().unwrap_or_default().to_owned();
    client.csrf(csrf);
    client.page("/v1/invites/accept", &json!({ "token": token }), &cookie).await?;
    Ok(cookie)
}

async fn code(folder: &Path, challenge: &str) -> Result<String, Failure> {
    let is_code = |line: &&str| line.len() == 9 && line.as_bytes().get(4) == Some(&b'-');
    for _ in 0..200 {
        for file in std::fs::read_dir(folder.join("outbox"))? {
            let letter = std::fs::read_to_string(file?.path())?;
            if letter.contains(challenge) {
                let code = letter.lines().map(str::trim).find(is_code);
                return Ok(code.ok_or("the mail has no code")?.to_owned());
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err("no mail came".into())
}

impl Client {
    /// Posts as a page does that shows this cookie, and returns the answer and the cookie that it
    /// sets.
    async fn page(
        &mut self,
        path: &str,
        body: &Value,
        cookie: &str,
    ) -> Result<(Value, String), Failure> {
        self.show(cookie);
        let (status, headers, bytes) = self.post_for_headers(path, body).await?;
        if !status.is_success() {
            return Err(format!("{path} answered {status} {bytes:?}").into());
        }
        let set = headers.get("set-cookie").and_then(|value| value.to_str().ok());
        let cookie = set.and_then(|set| set.split(';').next()).unwrap_or(cookie).to_owned();
        Ok((serde_json::from_slice(&bytes)?, cookie))
    }
}
