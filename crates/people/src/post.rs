//! Sends the mails that wait. Several instances may do so at once; a mail that one of them holds is
//! left to it, and one that it let go of, or died with, is tried by whoever comes next.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use crypto::Secret;
use ledger::StoreDown;
use model::{Clock, Entropy, MailJobId, Mint, Uuid};

use crate::{
    invite::invitation_link,
    mail::{Invitation, Letter, MailError, Mailer, Question, SignIn, WebhookDisabled},
    question::{Deciders, question_link},
    secrets::{Pepper, format_code},
    store::{Carries, MailJob, MailQueue, Unaddressed},
};

/// How long a claimed mail is this instance's; a [`Mailer`] ends before.
const LEASE: Duration = Duration::from_secs(30);
/// One at a time: what waits behind a slow one must not see its lease end.
const AT_ONCE: usize = 1;
/// How long the first repetition waits at most.
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// How long any repetition waits at most: of a mail that is wanted now, and of one that is good for days.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
const LONGEST_WAIT_FOR_DAYS: Duration = Duration::from_mins(15);

/// Sends the mails that wait.
pub struct Post {
    queue: Arc<dyn MailQueue>,
    mailer: Arc<dyn Mailer>,
    entropy: Arc<dyn Entropy>,
    pepper: Pepper,
    base_url: String,
    holder: Uuid,
    questions: Option<Questions>,
    leaving: Leaving,
}

/// How mails left this instance so far.
#[derive(Debug, Default)]
pub struct Leaving {
    /// Mails that were taken.
    pub sent: AtomicU64,
    /// Tries after which a mail had to wait.
    pub put_off: AtomicU64,
    /// Mails that were refused for good.
    pub refused: AtomicU64,
    // Whether a mail had to wait since the last check.
    suspect: AtomicBool,
    // What the last check came to.
    trouble: Mutex<Option<String>>,
    // How many tries in a row came to nothing, and why the last one did.
    in_vain: Mutex<(u32, String)>,
}

/// So many tries in a row that come to nothing are no fault of the mails.
const MANY: u32 = 5;

impl Leaving {
    /// Why no mail would be taken: the last check failed, or many tries in a row came to nothing.
    pub fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let in_vain = self.in_vain.lock().unwrap_or_else(PoisonError::into_inner);
        let (tries, why) = &*in_vain;
        trouble.or_else(|| {
            (*tries >= MANY).then(|| format!("{tries} attempts failed, the last one with: {why}"))
        })
    }

    fn taken(&self) {
        self.sent.fetch_add(1, Relaxed);
        self.found(None);
        *self.in_vain.lock().unwrap_or_else(PoisonError::into_inner) = Default::default();
    }

    fn not_taken(&self, why: &str) {
        let mut in_vain = self.in_vain.lock().unwrap_or_else(PoisonError::into_inner);
        *in_vain = (in_vain.0.saturating_add(1), why.to_owned());
    }

    fn found(&self, trouble: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }
}

/// Who is written to about what orgs ask.
pub struct Questions {
    /// Says who may answer.
    pub deciders: Arc<dyn Deciders>,
    /// The most people who are written to about one question.
    pub most: usize,
    /// The time in the ids of the mails.
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Questions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Questions").field("most", &self.most).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Post {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Post").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

/// Where the mails wait, and who takes them.
pub struct Way {
    /// Where they wait.
    pub queue: Arc<dyn MailQueue>,
    /// Who takes them.
    pub mailer: Arc<dyn Mailer>,
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Way").finish_non_exhaustive()
    }
}

impl Post {
    /// The post of an instance, whose links lead to this public address.
    pub fn new(
        way: Way,
        entropy: Arc<dyn Entropy>,
        pepper: Secret<Vec<u8>>,
        base_url: &str,
    ) -> Self {
        let mut name = [0; 16];
        entropy.fill(&mut name);
        Self {
            queue: way.queue,
            mailer: way.mailer,
            entropy,
            pepper: Pepper(pepper),
            base_url: base_url.trim_end_matches('/').to_owned(),
            holder: Uuid::from_bytes(name),
            questions: None,
            leaving: Leaving::default(),
        }
    }

    /// How mails left this instance so far.
    pub fn leaving(&self) -> &Leaving {
        &self.leaving
    }

    /// Whether a mail had to wait since the last check: that may be for its recipient's sake.
    pub fn is_suspect(&self) -> bool {
        self.leaving.suspect.load(Relaxed)
    }

    /// Finds out whether mails would be taken now, and notes it.
    pub async fn check(&self) -> Result<(), MailError> {
        self.leaving.suspect.store(false, Relaxed);
        let found = self.mailer.check().await;
        let why = |error: &MailError| match error {
            MailError::TryAgain(why) | MailError::Refused(why) => why.clone(),
        };
        self.leaving.found(found.as_ref().err().map(why));
        found
    }

    /// The post that also writes to those who may answer what orgs ask.
    #[must_use]
    pub fn asking(self, questions: Questions) -> Self {
        Self { questions: Some(questions), ..self }
    }

    /// Sends one mail that is due and addresses the mails of one question, and says whether there
    /// was anything to do. Neither waits until nothing of the other is left.
    pub async fn send_next(&self) -> Result<bool, StoreDown> {
        let jobs = self.queue.claim(self.holder, AT_ONCE, LEASE).await?;
        for job in &jobs {
            self.send(job).await?;
        }
        let addressed = match &self.questions {
            Some(questions) => self.address_next(questions).await?,
            None => false,
        };
        Ok(addressed || !jobs.is_empty())
    }

    /// Finds out who may answer a question, so that each of them gets a mail of their own.
    async fn address_next(&self, questions: &Questions) -> Result<bool, StoreDown> {
        let Some(question) = self.queue.claim_unaddressed(self.holder, LEASE).await? else {
            return Ok(false);
        };
        let Unaddressed { org, approval, .. } = question;
        let members = questions.deciders.deciders(org, approval, questions.most).await?;
        let mint = Mint::new(questions.clock.now(), &*self.entropy);
        let mails = members.into_iter().take(questions.most);
        let mails: Vec<_> = mails.map(|it| (mint.id(MailJobId::from_uuid), it)).collect();
        self.queue.address(&question, &mails).await?;
        Ok(true)
    }

    async fn send(&self, job: &MailJob) -> Result<(), StoreDown> {
        let _ = failpoint::hit("mail.unsent");
        let sent = self.mailer.send(&self.letter(job)).await;
        let _ = failpoint::hit("mail.sent");
        match sent {
            Ok(()) => {
                self.leaving.taken();
                self.queue.finish(job).await.map(drop)
            }
            Err(MailError::TryAgain(why)) => {
                self.leaving.put_off.fetch_add(1, Relaxed);
                self.leaving.not_taken(&why);
                self.leaving.suspect.store(true, Relaxed);
                let wait = self.wait(job);
                tracing::warn!(job = %job.id, attempt = job.attempt, %why, "a mail could not be sent and will be retried");
                self.queue.put_off(job, wait).await.map(drop)
            }
            Err(MailError::Refused(why)) => {
                self.leaving.refused.fetch_add(1, Relaxed);
                self.leaving.not_taken(&why);
                tracing::error!(job = %job.id, %why, "a mail was permanently rejected");
                self.queue.finish(job).await.map(drop)
            }
        }
    }

    fn letter(&self, job: &MailJob) -> Letter {
        let (to, expires_at) = (job.to.clone(), job.expires_at);
        match &job.carries {
            Carries::SignIn { challenge, salt } => {
                let token = self.pepper.link(*challenge, salt);
                Letter::SignIn(SignIn {
                    job: job.id,
                    to,
                    link: Secret::new(format!(
                        "{}/auth/confirm?t={}",
                        self.base_url,
                        token.expose()
                    )),
                    code: format_code(&self.pepper.code(*challenge, salt)),
                    expires_at,
                })
            }
            Carries::Invitation { org, invite, org_name, role } => {
                let token = self.pepper.invitation(*org, *invite);
                Letter::Invitation(Invitation {
                    job: job.id,
                    to,
                    link: invitation_link(&self.base_url, &token),
                    org_name: org_name.clone(),
                    role: *role,
                    inviter: None,
                    expires_at,
                })
            }
            Carries::Question { to: linked, org_name, agent_name, tool, may_decide } => {
                Letter::Question(Question {
                    job: job.id,
                    to,
                    link: question_link(&self.base_url, &self.pepper.question(*linked)),
                    org_name: org_name.clone(),
                    agent_name: agent_name.clone(),
                    tool: tool.clone(),
                    may_decide: *may_decide,
                    expires_at,
                })
            }
            Carries::WebhookDisabled { webhook, org_name, origin, failing_since, disabled_at } => {
                Letter::WebhookDisabled(WebhookDisabled {
                    job: job.id,
                    to,
                    link: format!("{}/app/webhooks/{webhook}", self.base_url),
                    org_name: org_name.clone(),
                    origin: origin.clone(),
                    failing_since: *failing_since,
                    disabled_at: *disabled_at,
                    expires_at,
                })
            }
        }
    }

    /// A time between a tenth and the whole of what doubles with each attempt, so that mails that
    /// failed together do not come again together.
    fn wait(&self, job: &MailJob) -> Duration {
        let longest = match job.carries {
            Carries::SignIn { .. } | Carries::Question { .. } => LONGEST_WAIT,
            Carries::Invitation { .. } | Carries::WebhookDisabled { .. } => LONGEST_WAIT_FOR_DAYS,
        };
        let doubled = FIRST_WAIT.saturating_mul(1 << job.attempt.saturating_sub(1).min(10));
        let most = doubled.min(longest);
        let mut bytes = [0; 4];
        self.entropy.fill(&mut bytes);
        let part = u32::from_be_bytes(bytes) % 1000;
        most / 10 + most * part / 1000 * 9 / 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_fails_is_trouble_and_so_are_many_tries_in_vain() {
        let leaving = Leaving::default();
        assert_eq!(leaving.trouble(), None);
        leaving.found(Some("nobody answers".to_owned()));
        assert_eq!(leaving.trouble().as_deref(), Some("nobody answers"));
        leaving.found(None);
        assert_eq!(leaving.trouble(), None);
        for _ in 1..MANY {
            leaving.not_taken("550");
        }
        assert_eq!(leaving.trouble(), None, "a few recipients may be refused");
        leaving.not_taken("554");
        // A server that lets us in and takes nothing is no better than one that does not.
        leaving.found(None);
        assert_eq!(leaving.trouble().as_deref(), Some("5 attempts failed, the last one with: 554"));
        leaving.taken();
        assert_eq!((leaving.trouble(), leaving.sent.load(Relaxed)), (None, 1));
    }
}
