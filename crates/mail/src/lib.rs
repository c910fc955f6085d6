//! Letters to people: what they say, as plain text and as HTML, and the two ways that they go: by
//! SMTP, or into a folder on a developer's machine.
//!
//! Both are adapters of `people::Mailer`. Nothing here waits its turn, tries again or remembers what
//! was sent: that is the affair of whoever has the letters.

mod message;
mod outbox;
mod smtp;
mod stationery;

pub use message::Sender;
pub use outbox::Outbox;
pub use smtp::{Authorities, AuthoritiesError, Limits, Login, Protection, Relay, Smtp};

#[cfg(test)]
mod tests;
