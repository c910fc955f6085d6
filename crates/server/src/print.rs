//! The one place that prints. The operator's verbs speak on standard output, refusals on standard
//! error; logs go through tracing.

use std::io::{IsTerminal, Write};

use crate::exit::Exit;

/// Prints a line for the operator.
pub(crate) fn line(text: impl AsRef<str>) {
    write(&mut std::io::stdout().lock(), text.as_ref());
}

/// Prints a line about what went wrong.
pub(crate) fn complaint(text: impl AsRef<str>) {
    write(&mut std::io::stderr().lock(), text.as_ref());
}

/// Prints what was found, its first line in the colour of how it went where somebody sees colours.
pub(crate) fn outcome(exit: Exit, lines: &[String]) {
    let mut lines = lines.iter();
    if let Some(first) = lines.next() {
        let sees = std::io::stdout().is_terminal() && colours_are_welcome();
        line(if sees { painted(exit, first) } else { first.clone() });
    }
    lines.for_each(line);
}

fn painted(exit: Exit, text: &str) -> String {
    let colour = match exit {
        Exit::Ok => 32,
        Exit::FoundBad | Exit::Malformed => 31,
        Exit::Usage | Exit::Undecidable | Exit::Internal | Exit::Unavailable => 33,
    };
    format!("\x1b[{colour}m{text}\x1b[0m")
}

#[expect(clippy::disallowed_methods, reason = "it is the terminal's, no setting of the service")]
fn colours_are_welcome() -> bool {
    let said = std::env::var_os("NO_COLOR").is_some_and(|said| !said.is_empty());
    !said && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// Says on a terminal how far long work has come; the next such line takes its place.
pub(crate) fn progress(text: &str) {
    let mut stream = std::io::stderr().lock();
    if stream.is_terminal() {
        let _ = write!(stream, "{text}\x1b[K\r").and_then(|()| stream.flush());
    }
}

/// Prints a question, whose answer is typed behind it.
pub(crate) fn question(text: &str) {
    let mut stream = std::io::stderr().lock();
    let _ = write!(stream, "{text}").and_then(|()| stream.flush());
}

fn write(stream: &mut dyn Write, text: &str) {
    // Whoever closed the other end does not want to hear more; the exit code still tells.
    let _ = writeln!(stream, "{text}").and_then(|()| stream.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_has_the_colour_of_how_it_went() {
        assert_eq!(painted(Exit::Ok, "VALID"), "\x1b[32mVALID\x1b[0m");
        assert_eq!(painted(Exit::FoundBad, "INVALID"), "\x1b[31mINVALID\x1b[0m");
        assert_eq!(painted(Exit::Undecidable, "?"), "\x1b[33m?\x1b[0m");
    }
}
