//! Fills the templates below `web/mail` in: a subject, plain text and HTML.

use jiff::{Timestamp as Moment, tz::TimeZone};
use minijinja::{Environment, Error, UndefinedBehavior, Value, context};
use model::Timestamp;
use people::mail::{Invitation, Letter, Question, SignIn, WebhookDisabled};

const TEMPLATES: [(&str, &str); 10] = [
    ("button.html", include_str!("../../../web/mail/button.html")),
    ("frame.html", include_str!("../../../web/mail/frame.html")),
    ("invitation.html", include_str!("../../../web/mail/invitation.html")),
    ("invitation.txt", include_str!("../../../web/mail/invitation.txt")),
    ("question.html", include_str!("../../../web/mail/question.html")),
    ("question.txt", include_str!("../../../web/mail/question.txt")),
    ("sign-in.html", include_str!("../../../web/mail/sign-in.html")),
    ("sign-in.txt", include_str!("../../../web/mail/sign-in.txt")),
    ("webhook-disabled.html", include_str!("../../../web/mail/webhook-disabled.html")),
    ("webhook-disabled.txt", include_str!("../../../web/mail/webhook-disabled.txt")),
];
/// The most characters of a name that somebody chose; a longer one ends in `…`.
const MOST_OF_A_NAME: usize = 80;

/// A letter in words.
#[derive(Clone)]
pub(crate) struct Written {
    /// One line.
    pub(crate) subject: String,
    pub(crate) text: String,
    pub(crate) html: String,
}

/// What letters are written with.
#[derive(Debug)]
pub(crate) struct Stationery {
    templates: Environment<'static>,
    /// The service as people know it.
    place: String,
}

impl Stationery {
    /// The stationery of the service at this host.
    pub(crate) fn new(place: &str) -> Result<Self, Error> {
        let mut templates = Environment::new();
        templates.set_undefined_behavior(UndefinedBehavior::Strict);
        // By their names: what ends in `.html` escapes every value.
        for (name, text) in TEMPLATES {
            templates.add_template(name, text)?;
        }
        Ok(Self { templates, place: place.to_owned() })
    }

    /// The letter in words.
    pub(crate) fn write(&self, letter: &Letter) -> Result<Written, Error> {
        match letter {
            Letter::SignIn(SignIn { link, code, expires_at, .. }) => {
                let values = context! {
                    place => &self.place,
                    link => link.expose(),
                    code => code.expose(),
                    until => until(*expires_at),
                };
                self.fill("sign-in", values)
            }
            Letter::Invitation(Invitation {
                org_name, inviter, role, link, expires_at, ..
            }) => {
                let values = context! {
                    place => &self.place,
                    org => plain(org_name),
                    inviter => inviter.as_deref().map(plain),
                    role => role.as_str(),
                    link => link.expose(),
                    until => until(*expires_at),
                };
                self.fill("invitation", values)
            }
            Letter::Question(Question {
                org_name,
                agent_name,
                tool,
                may_decide,
                link,
                expires_at,
                ..
            }) => {
                let values = context! {
                    org => plain(org_name),
                    agent => plain(agent_name),
                    tool => plain(tool),
                    may_decide,
                    link => link.expose(),
                    until => until(*expires_at),
                };
                self.fill("question", values)
            }
            Letter::WebhookDisabled(WebhookDisabled {
                org_name,
                origin,
                failing_since,
                disabled_at,
                link,
                ..
            }) => {
                let values = context! {
                    org => plain(org_name),
                    origin => plain(origin),
                    since => failing_since.map(until),
                    disabled => until(*disabled_at),
                    link,
                };
                self.fill("webhook-disabled", values)
            }
        }
    }

    fn fill(&self, name: &str, values: Value) -> Result<Written, Error> {
        let text = self.templates.get_template(&format!("{name}.txt"))?.render(&values)?;
        // The subject is the first line of the template.
        let (subject, text) = text.split_once('\n').unwrap_or((&text, ""));
        let values = context! { subject, ..values };
        let html = self.templates.get_template(&format!("{name}.html"))?.render(values)?;
        Ok(Written { subject: subject.to_owned(), text: text.trim_start().to_owned() + "\n", html })
    }
}

/// A name that somebody chose, as one line that cannot turn what stands around it: no control
/// character, nothing that changes the direction of writing or cannot be seen.
fn plain(name: &str) -> String {
    let is_hidden = |it: char| it.is_control() || model::is_unseen(it);
    let shown = |it: char| if is_hidden(it) { '\u{FFFD}' } else { it };
    let mut plain: String = name.chars().map(shown).take(MOST_OF_A_NAME).collect();
    if name.chars().nth(MOST_OF_A_NAME).is_some() {
        plain.push('…');
    }
    plain
}

/// A time as people read it anywhere.
fn until(at: Timestamp) -> String {
    let moment = Moment::from_millisecond(at.unix_millis()).unwrap_or(Moment::MAX);
    moment.to_zoned(TimeZone::UTC).strftime("%-d %B %Y, %H:%M UTC").to_string()
}
