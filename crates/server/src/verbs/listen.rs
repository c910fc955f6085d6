//! `listen`: prints what happens in an org as it happens, and posts it, signed, to a receiver that is
//! being written. It asks the service as any client does and needs no database.

mod forward;
mod stream;

use std::{io, net::IpAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use crypto::Secret;
use egress::{Egress, PrivateNetworks, Resolver, Rules, SystemResolver};
use model::causes;
use serde_json::Value;
use tokio::signal;
use upstream::{Address, Client, Trust};

use self::{
    forward::Forward,
    stream::{Message, OpenError, Opened, Source},
};
use crate::{
    cli::Listen,
    exit::{Exit, Failure},
    print,
};

const SERVICE: &str = "SERVICE_BASE_URL";
const KEY: &str = "SERVICE_API_KEY";
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);
/// How long nothing is asked of a service that gave no answer.
const AGAIN_AFTER: Duration = Duration::from_secs(3);

/// Listens until Ctrl-C.
pub(super) async fn run(what: Listen) -> Result<Exit, Failure> {
    let mut source = source(&what)?;
    let forward = match &what.forward {
        Some(to) if what.to_another_machine => Some(Forward::to(to, Reach::Anywhere)?),
        Some(to) => Some(Forward::to(to, Reach::ThisMachine)?),
        None => None,
    };
    if let Some(forward) = &forward {
        print::line(forward.told());
    }
    let shown = if what.json { Shown::Whole } else { Shown::Summary };
    tokio::select! {
        ended = listen(&mut source, forward.as_ref(), shown) => ended,
        stopped = signal::ctrl_c() => stopped.map(|()| Exit::Ok).map_err(Failure::internal),
    }
}

fn source(what: &Listen) -> Result<Source, Failure> {
    let Some(service) = what.service.clone().or_else(|| environment(SERVICE)) else {
        let expected = "expected `--service` or the environment variable `SERVICE_BASE_URL`";
        return Err(Failure::usage(format!("the service's URL is not set: {expected}")));
    };
    let Some(key) = environment(KEY).map(Secret::new) else {
        let expected = "expected the key of an org or of an agent as `SERVICE_API_KEY`";
        return Err(Failure::usage(format!("there is no key in the environment: {expected}")));
    };
    let address = address(&service)?;
    // A key leaves this machine under TLS alone.
    let reach = if address.is_secure() { Reach::Anywhere } else { Reach::ThisMachine };
    let authorities = what.ca.as_deref().map(super::read_text).transpose()?;
    let client = client(&address, (reach, Trust { authorities, identity: None }))?;
    Source::new((client, address), key, what.types.as_deref())
}

async fn listen(
    source: &mut Source,
    forward: Option<&Forward>,
    shown: Shown,
) -> Result<Exit, Failure> {
    let mut has_begun = false;
    loop {
        match source.open().await {
            Ok(Opened::Stream) => {
                if !std::mem::replace(&mut has_begun, true) {
                    print::complaint("listening; Ctrl-C stops it");
                }
                while let Some(message) = source.next().await {
                    let event = told(message, shown)?;
                    if let (Some(event), Some(forward)) = (event, forward) {
                        print::line(forward.post(&event).await);
                    }
                }
            }
            Ok(Opened::Later(why)) => print::complaint(format!("{why}; retrying soon")),
            Err(OpenError::Refused(why)) => return Err(Failure::usage(why)),
            // An address that never answered is more likely a wrong one.
            Err(error) if !has_begun => {
                let why = causes(&error);
                return Err(Failure::internal(format!("could not reach the service: {why}")));
            }
            Err(error) => {
                print::complaint(format!("the service is unreachable: {}", causes(&error)));
            }
        }
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}

/// Prints a message, and returns the event that it is.
fn told(message: Message, shown: Shown) -> Result<Option<Value>, Failure> {
    match message {
        Message::Event(event) => {
            print::line(match shown {
                Shown::Whole => event.to_string(),
                Shown::Summary => summary(&event),
            });
            Ok(Some(event))
        }
        Message::Missed(why) => {
            print::complaint(format!("events may have been missed: {why}"));
            Ok(None)
        }
        Message::Ended(why) => Err(Failure::usage(format!("the service ended the stream: {why}"))),
    }
}

/// An event in one line: when, what, its id and that of its object.
fn summary(event: &Value) -> String {
    let text = |place: &str| event.pointer(place).and_then(Value::as_str).unwrap_or("-");
    let words = [text("/created_at"), text("/type"), text("/id"), text("/data/object/id")];
    words.map(plain).join("  ")
}

/// The text without what a terminal would obey.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn address(text: &str) -> Result<Address, Failure> {
    Address::parse(text).map_err(|error| Failure::usage(format!("`{}`: {error}", plain(text))))
}

/// How an event is printed.
#[derive(Debug, Clone, Copy)]
enum Shown {
    /// As a line of JSON.
    Whole,
    /// When, what, and which.
    Summary,
}

/// Where a client may connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Anywhere,
    ThisMachine,
}

fn client(to: &Address, (reach, trust): (Reach, Trust)) -> Result<Client, Failure> {
    let is_elsewhere = to.host().parse::<IpAddr>().is_ok_and(|address| !address.is_loopback());
    if reach == Reach::ThisMachine && is_elsewhere {
        return Err(elsewhere(to));
    }
    let rules = Rules { private_networks: PrivateNetworks::Allowed, ..Rules::default() };
    let egress = match reach {
        Reach::Anywhere => Egress::new(rules),
        Reach::ThisMachine => Egress::with_resolver(rules, Arc::new(ThisMachine)),
    };
    let egress = egress.map_err(Failure::internal)?;
    Client::new(egress, &trust, CONNECT).map_err(Failure::usage)
}

fn elsewhere(to: &Address) -> Failure {
    Failure::usage(format!(
        "`{to}` is not an address of this machine: expected one such as `http://localhost:3000`; \
         a service on another machine requires `https`, and `--to-another-machine` allows events \
         to be posted to another machine"
    ))
}

/// Finds addresses of this machine, and of no other.
#[derive(Debug)]
struct ThisMachine;

#[async_trait]
impl Resolver for ThisMachine {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = SystemResolver.resolve(name).await?;
        if found.iter().all(IpAddr::is_loopback) {
            Ok(found)
        } else {
            Err(io::Error::other("the name resolves to another machine"))
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a client of a service has none of its settings")]
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_one_line_that_moves_no_cursor() {
        let event = json!({
            "id": "evt_1", "type": "action.created", "created_at": "2026-10-01T12:00:00.000Z",
            "data": { "object": { "id": "act_\u{1b}[2J1" } },
        });
        let expected = "2026-10-01T12:00:00.000Z  action.created  evt_1  act_\u{fffd}[2J1";
        assert_eq!(summary(&event), expected);
    }

    #[tokio::test]
    async fn plain_addresses_and_receivers_are_of_this_machine_alone() {
        for (url, reach, is_taken) in [
            ("http://127.0.0.1:3000/hook", Reach::ThisMachine, true),
            ("http://[::1]:3000/hook", Reach::ThisMachine, true),
            ("http://10.0.0.1:3000/hook", Reach::ThisMachine, false),
            ("http://[fd00::1]/hook", Reach::ThisMachine, false),
            ("http://10.0.0.1:3000/hook", Reach::Anywhere, true),
        ] {
            let to = Address::parse(url).unwrap();
            assert_eq!(client(&to, (reach, Trust::default())).is_ok(), is_taken, "{url}");
        }
        assert!(ThisMachine.resolve("localhost").await.is_ok_and(|found| !found.is_empty()));
    }
}
