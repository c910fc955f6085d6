//! A signer of somebody else's, held to the published vectors.

use std::{
    io::{Read, Write},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use intent::ToSign;
use serde_json::Value;

use crate::{
    exit::{Exit, Failure},
    print,
};

/// For how long a signer may think about one call.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often is looked whether it has ended.
const GLANCE: Duration = Duration::from_millis(2);
/// The most bytes that are read of what it prints.
const PRINTED: u64 = 64 * 1024;

/// What a signer did with one call.
#[derive(Debug, PartialEq, Eq)]
enum Did {
    Printed(String),
    Ended(String),
    Hung,
}

/// Holds the signer to every published call, and to making up a nonce of its own.
pub(super) fn run(command: &str) -> Result<Exit, Failure> {
    let cases = intent::to_sign().map_err(Failure::internal)?;
    let mut failed = 0;
    let mut tell = |name: &str, wrong: Option<String>| match wrong {
        None => print::line(format!("ok      {name}")),
        Some(wrong) => {
            failed += 1;
            print::line(format!("FAILED  {name}\n{wrong}"));
        }
    };
    for case in &cases {
        tell(&case.name, differs(case, &asked(command, &case.sign)?));
    }
    if let Some(case) = cases.iter().find(|case| case.intent.is_some()) {
        tell("a_nonce_of_its_own", repeats(command, case)?);
    }
    let all = cases.len().saturating_add(1);
    if failed == 0 {
        print::line(format!("CONFORMS: all of {all} vectors"));
        return Ok(Exit::Ok);
    }
    print::line(format!("DIFFERS: in {failed} of {all} vectors"));
    Ok(Exit::FoundBad)
}

/// What is wrong with what a signer did with a call, if anything.
fn differs(case: &ToSign, did: &Did) -> Option<String> {
    let expected = match (&case.intent, did) {
        (Some(intent), Did::Printed(printed)) if intent == printed => return None,
        (None, Did::Ended(_)) => return None,
        (Some(intent), _) => intent::readable(intent),
        (None, _) => "a refusal: an exit status other than 0".to_owned(),
    };
    let call = &case.sign;
    Some(format!("  call      {call}\n  expected  {expected}\n  got       {}", shown(did)))
}

fn shown(did: &Did) -> String {
    match did {
        Did::Printed(text) => intent::readable(text),
        Did::Ended(how) => how.clone(),
        Did::Hung => format!("no output within {} seconds", PATIENCE.as_secs()),
    }
}

/// What is wrong with two intents of one call to which time and nonce are not given.
fn repeats(command: &str, case: &ToSign) -> Result<Option<String>, Failure> {
    let mut call = case.sign.clone();
    for own in ["iat", "exp", "jti"] {
        let _ = call.as_object_mut().and_then(|call| call.remove(own));
    }
    let (one, other) = (asked(command, &call)?, asked(command, &call)?);
    let nonce = |did: &Did| match did {
        Did::Printed(text) => intent::nonce_of(text),
        Did::Ended(_) | Did::Hung => None,
    };
    let differ = nonce(&one).zip(nonce(&other)).is_some_and(|(one, other)| one != other);
    Ok((!differ).then(|| {
        let (one, other) = (shown(&one), shown(&other));
        format!(
            "  call      {call}\n  expected  two nonces\n  got       {one}\n  and       {other}"
        )
    }))
}

/// Gives a call to the signer and waits for what it does.
fn asked(command: &str, call: &Value) -> Result<Did, Failure> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = shell.stderr(Stdio::piped()).spawn().map_err(Failure::internal)?;
    if let Some(mut input) = child.stdin.take() {
        // One that does not read the call is told by what it prints.
        let _ = input.write_all(call.to_string().as_bytes());
    }
    let (printed, complained) = (drained(child.stdout.take()), drained(child.stderr.take()));
    let Some(status) = ended(&mut child).map_err(Failure::internal)? else { return Ok(Did::Hung) };
    let text = |bytes: Receiver<Vec<u8>>| {
        let bytes = bytes.recv_timeout(PATIENCE).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    };
    let (printed, complained) = (text(printed), text(complained));
    if status.success() {
        return Ok(Did::Printed(printed));
    }
    let last = complained.lines().next_back().unwrap_or_default();
    // The shell's own word for a command that is not there, or is none.
    if matches!(status.code(), Some(126 | 127)) {
        return Err(Failure::usage(format!("the signer could not be started: {last}")));
    }
    Ok(Did::Ended(format!("{status}: {last}")))
}

/// How the signer ended; nothing of one that has to be ended.
#[expect(
    clippy::disallowed_methods,
    reason = "a verb waits for another program, and serves nobody"
)]
fn ended(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(GLANCE);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// What a stream says, read beside whatever else goes on.
fn drained(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (give, take) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.map(|stream| stream.take(PRINTED).read_to_end(&mut bytes));
        let _ = give.send(bytes);
    });
    take
}
