//! A person's browser: signed in by the mail that the service's outbox holds.

use std::{fs, time::Duration};

use serde_json::json;

use super::{Answer, House, Request, Service};

/// A browser that is signed in.
#[derive(Debug)]
pub struct Browser {
    cookie: String,
    csrf: String,
    origin: String,
}

impl Browser {
    /// Signs somebody in by the code of their mail.
    pub async fn sign_in(house: &House, service: &Service, (email, origin): (&str, &str)) -> Self {
        let caller = service.anonymous();
        let asked = caller.send(Request::post("/v1/auth/start", &json!({ "email": email }))).await;
        let browser = cookie(&asked);
        let challenge = asked.json()["id"].as_str().unwrap().to_owned();
        let proof = json!({ "challenge": challenge, "code": code(house, &challenge).await });
        let confirm = Request::post("/v1/auth/confirm", &proof).header("Cookie", &browser);
        let signed_in = caller.send(confirm).await;
        let csrf = signed_in.clone().ok()["csrf"].as_str().unwrap().to_owned();
        Self { cookie: cookie(&signed_in), csrf, origin: origin.to_owned() }
    }

    /// The request as a page of this browser sends it.
    pub fn page(&self, request: Request) -> Request {
        let request = request.header("Cookie", &self.cookie).header("Origin", &self.origin);
        request.header("Service-CSRF", &self.csrf)
    }

    /// The cookie of its session, with its name.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// The request by which this browser's person joins.
    pub fn acceptance(&self, token: &str) -> Request {
        self.page(Request::post("/v1/invites/accept", &json!({ "token": token })))
    }

    /// A new owner of the house's org, signed in there.
    pub async fn owner(house: &House, service: &Service, email: &str) -> Self {
        let (origin, token) = invited(house, email).await;
        let browser = Self::sign_in(house, service, (email, &origin)).await;
        service.anonymous().send(browser.acceptance(&token)).await.ok();
        browser
    }
}

/// The first cookie that an answer sets.
fn cookie(answer: &Answer) -> String {
    answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
}

/// The code in the mail of this challenge, once it is there.
async fn code(house: &House, challenge: &str) -> String {
    let is_code = |line: &&str| line.len() == 9 && line.as_bytes().get(4) == Some(&b'-');
    for _ in 0..600 {
        for file in fs::read_dir(house.folder().join("outbox")).into_iter().flatten().flatten() {
            let letter = fs::read_to_string(file.path()).unwrap_or_default();
            if letter.contains(challenge) {
                return letter.lines().map(str::trim).find(is_code).unwrap().to_owned();
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no mail of {challenge} came");
}

/// Asks somebody to own the house's org: the address of this server, and what the link holds.
pub async fn invited(house: &House, email: &str) -> (String, String) {
    let link = house.verbs.run(&["owner", "invite", email, "--org", &house.org]).await;
    let (origin, token) = link.trim().split_once("/login?invite=").unwrap();
    (origin.to_owned(), token.to_owned())
}
