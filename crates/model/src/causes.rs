//! An error as one line: for logs and for operators, not for callers of the interface.

use std::error::Error;

/// The error and everything that it stands on, as one line. A cause that the line already ends
/// with is not said twice.
pub fn causes(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !line.ends_with(&text) {
            line = format!("{line}: {text}");
        }
        source = cause.source();
    }
    line
}
