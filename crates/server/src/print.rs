//! The one place that prints. The operator's verbs speak on standard output, refusals on standard
//! error; logs go through tracing.

use std::io::Write;

/// Prints a line for the operator.
pub(crate) fn line(text: impl AsRef<str>) {
    write(&mut std::io::stdout().lock(), text.as_ref());
}

/// Prints a line about what went wrong.
pub(crate) fn complaint(text: impl AsRef<str>) {
    write(&mut std::io::stderr().lock(), text.as_ref());
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
