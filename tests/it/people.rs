//! People at a service that runs: they sign in by the mail that its outbox holds, and join.

use std::{fs, time::Duration};

use serde_json::{Value, json};

use crate::house::{Answer, Caller, House, Request, Service, Start, binaries};

/// A browser that is signed in.
struct Browser {
    cookie: String,
    csrf: String,
    origin: String,
}

impl Browser {
    /// Signs somebody in by the code of their mail.
    async fn sign_in(house: &House, service: &Service, (email, origin): (&str, &str)) -> Self {
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
    fn page(&self, request: Request) -> Request {
        let request = request.header("Cookie", &self.cookie).header("Origin", &self.origin);
        request.header("Service-CSRF", &self.csrf)
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
async fn invited(house: &House, email: &str) -> (String, String) {
    let link = house.verbs.run(&["owner", "invite", email, "--org", &house.org]).await;
    let (origin, token) = link.trim().split_once("/login?invite=").unwrap();
    (origin.to_owned(), token.to_owned())
}

fn acceptance(token: &str) -> Request {
    Request::post("/v1/invites/accept", &json!({ "token": token }))
}

async fn members(caller: &Caller) -> Vec<Value> {
    caller.get("/v1/members?limit=100").await.ok()["data"].as_array().unwrap().clone()
}

/// Where the service dies while somebody accepts.
const POINTS: [&str; 3] = ["turn.signed=kill", "append.unsent=kill", "append.unanswered=kill"];

#[tokio::test]
async fn one_member_or_none_comes_of_an_invitation_whenever_the_service_dies() {
    if binaries().is_none_or(|binaries| binaries.failpoints.is_none()) {
        return;
    }
    let Some(house) = House::new("").await else { return };
    let org_key = house.org_key().await;
    let people = async |number: usize, point: &'static str| {
        let email = format!("p{number}@example.com");
        let (origin, token) = invited(&house, &email).await;
        let browser = {
            let service = house.serve().await;
            Browser::sign_in(&house, &service, (&email, &origin)).await
        };
        let mut service = house.start(Start::Armed(point)).await;
        let accept = || browser.page(acceptance(&token));
        assert!(service.anonymous().try_send(accept()).await.is_err(), "{point}");
        assert!(!service.ended(Duration::from_secs(20)).await.success(), "{point}");
        let service = house.serve().await;
        let before = members(&service.caller(&org_key)).await;
        let mine = |all: &[Value]| all.iter().filter(|it| it["user"]["email"] == *email).count();
        let was_kept = point.starts_with("append.unanswered");
        assert_eq!(mine(&before), usize::from(was_kept), "{point}");
        let joined = service.anonymous().send(accept()).await.ok();
        assert_eq!(joined["deed"].is_null(), was_kept, "{point}: {joined}");
        let after = members(&service.caller(&org_key)).await;
        assert_eq!(mine(&after), 1, "{point}");
    };
    for (number, point) in POINTS.into_iter().enumerate() {
        people(number, point).await;
    }
    let found = house.verbs.run(&["check"]).await;
    assert!(found.contains("members"), "{found}");
}
