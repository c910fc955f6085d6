//! Letters as they are written, put into a folder, and sent to a server.

mod letters;
mod outbox;
mod server;
mod smtp;

use std::sync::Arc;

use crypto::Secret;
use model::{Clock, MailJobId, Role, Timestamp};
use people::{
    Address,
    mail::{Invitation, Letter, MailError, Mailer, Question, SignIn, WebhookDisabled},
};

use crate::Sender;

#[derive(Debug)]
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        "2026-11-22T14:00:00.000Z".parse().unwrap()
    }
}

const LINK: &str = "https://chancery.example/auth/confirm?t=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6&next=%2Fapprovals";
const CODE: &str = "K7QD-2MXP";

fn sender() -> Sender {
    let from = Address::parse("chancery@chancery.example").unwrap();
    Sender::new(&from, "chancery.example", Arc::new(Stopped)).unwrap()
}

fn job() -> MailJobId {
    "job_01k6djwz2xbw0t38pctkjyc1rr".parse().unwrap()
}

fn sign_in(to: &str) -> Letter {
    Letter::SignIn(SignIn {
        job: job(),
        to: Address::parse(to).unwrap(),
        link: Secret::new(LINK.to_owned()),
        code: Secret::new(CODE.to_owned()),
        expires_at: "2026-11-22T14:10:00.000Z".parse().unwrap(),
    })
}

fn invitation(org: &str) -> Invitation {
    Invitation {
        job: job(),
        to: Address::parse("bob@example.org").unwrap(),
        org_name: org.to_owned(),
        inviter: Some("Ann <ann@acme.example>".to_owned()),
        role: Role::Admin,
        link: Secret::new("https://chancery.example/login?invite=YWJjZGVmZ2hpamts".to_owned()),
        expires_at: "2026-11-29T14:00:00.000Z".parse().unwrap(),
    }
}

fn question(agent: &str, tool: &str) -> Letter {
    Letter::Question(Question {
        job: job(),
        to: Address::parse("bob@example.org").unwrap(),
        org_name: "Acme & Söhne".to_owned(),
        agent_name: agent.to_owned(),
        tool: tool.to_owned(),
        may_decide: true,
        link: Secret::new("https://chancery.example/approve?t=YWJjZGVmZ2hpamts".to_owned()),
        expires_at: "2026-11-22T14:30:00.000Z".parse().unwrap(),
    })
}

fn webhook_disabled(org: &str, origin: &str) -> WebhookDisabled {
    WebhookDisabled {
        job: job(),
        to: Address::parse("bob@example.org").unwrap(),
        org_name: org.to_owned(),
        origin: origin.to_owned(),
        failing_since: Some("2026-11-19T13:58:00.000Z".parse().unwrap()),
        disabled_at: "2026-11-22T14:00:00.000Z".parse().unwrap(),
        link: "https://chancery.example/app/webhooks/whe_01k6djwz2xbw0t38pctkjyc1rr".to_owned(),
        expires_at: "2026-11-29T14:00:00.000Z".parse().unwrap(),
    }
}
