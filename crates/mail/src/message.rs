//! A letter as RFC 5322 has it: headers, and its two forms as parts of one message.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use lettre::{
    Message,
    address::Envelope,
    message::{
        Body, Mailbox, MultiPart, SinglePart,
        header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue},
    },
};
use model::{Clock, causes};
use people::{
    Address,
    mail::{Letter, MailError},
};

use crate::stationery::Stationery;

/// The name that stands before the sender's address.
const NAME: &str = "Chancery";
/// The most bytes of a line that goes as it is, of the 998 that RFC 5322 allows.
const MOST_OF_A_LINE: usize = 900;

/// Who letters come from, and what they are written with.
#[derive(Clone)]
pub struct Sender {
    from: Mailbox,
    stationery: Arc<Stationery>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

/// A letter as it is sent.
pub(crate) struct Composed {
    pub(crate) envelope: Envelope,
    pub(crate) bytes: Vec<u8>,
}

impl Sender {
    /// The sender of this address, for the service at this host.
    pub fn new(from: &Address, place: &str, clock: Arc<dyn Clock>) -> Result<Self, MailError> {
        let from = Mailbox::new(Some(NAME.to_owned()), mailbox(from)?);
        let stationery = Stationery::new(place).map_err(|error| unwritten(&error))?;
        Ok(Self { from, stationery: Arc::new(stationery), clock })
    }

    /// The address that letters come from, as a server is told it.
    pub(crate) fn address(&self) -> &lettre::Address {
        &self.from.email
    }

    /// The letter as it is sent.
    pub(crate) fn compose(&self, letter: &Letter) -> Result<Composed, MailError> {
        let id = letter.job();
        let written = self.stationery.write(letter);
        let written = written.map_err(|error| unwritten(&error))?;
        if written.subject.chars().any(char::is_control) {
            return Err(MailError::Refused("its subject is more than one line".to_owned()));
        }
        let millis = u64::try_from(self.clock.now().unix_millis()).unwrap_or_default();
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
        let automatic = HeaderName::new_from_ascii_str("Auto-Submitted");
        let parts = MultiPart::alternative()
            .boundary(format!("=_{id}"))
            .singlepart(part(ContentType::TEXT_PLAIN, written.text))
            .singlepart(part(ContentType::TEXT_HTML, written.html));
        let message = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, mailbox(letter.to())?))
            .subject(written.subject)
            .date(now)
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())))
            .raw_header(HeaderValue::new(automatic, "auto-generated".to_owned()))
            .multipart(parts)
            .map_err(|error| unwritten(&error))?;
        Ok(Composed { envelope: message.envelope().clone(), bytes: message.formatted() })
    }
}

fn mailbox(address: &Address) -> Result<lettre::Address, MailError> {
    address.as_str().parse().map_err(|_| {
        MailError::Refused("its address is none that the mail system knows".to_owned())
    })
}

fn part(kind: ContentType, text: String) -> SinglePart {
    // Where the mail system takes a text as it is, it stays one that people can read and copy from.
    let fits = text.is_ascii() && text.lines().all(|line| line.len() <= MOST_OF_A_LINE);
    let body = if fits {
        let bytes = text.replace('\n', "\r\n").into_bytes();
        Body::dangerous_pre_encoded(bytes, ContentTransferEncoding::SevenBit)
    } else {
        Body::new(text)
    };
    SinglePart::builder().header(kind).body(body)
}

fn unwritten(error: &(dyn std::error::Error + 'static)) -> MailError {
    MailError::Refused(format!("it cannot be written: {}", causes(error)))
}
