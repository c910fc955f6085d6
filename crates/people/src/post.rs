//! Sends the mails that wait. Several instances may do so at once; a mail that one of them holds is
//! left to it, and one that it let go of, or died with, is tried by whoever comes next.

use std::{sync::Arc, time::Duration};

use crypto::Secret;
use ledger::StoreDown;
use model::{Entropy, Uuid};

use crate::{
    invite::invitation_link,
    mail::{Invitation, Letter, MailError, Mailer, SignIn},
    secrets::{Pepper, shown},
    store::{Carries, MailJob, MailQueue},
};

/// How long a claimed mail is this instance's; a [`Mailer`] ends before.
const LEASE: Duration = Duration::from_secs(30);
/// One at a time: what waits behind a slow one must not see its lease end.
const AT_ONCE: usize = 1;
/// How long the first repetition waits at most.
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// How long any repetition waits at most.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Sends the mails that wait.
pub struct Post {
    queue: Arc<dyn MailQueue>,
    mailer: Arc<dyn Mailer>,
    entropy: Arc<dyn Entropy>,
    pepper: Pepper,
    base_url: String,
    holder: Uuid,
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
        }
    }

    /// Sends one mail that is due, and says whether there was one.
    pub async fn send_next(&self) -> Result<bool, StoreDown> {
        let jobs = self.queue.claim(self.holder, AT_ONCE, LEASE).await?;
        for job in &jobs {
            self.send(job).await?;
        }
        Ok(!jobs.is_empty())
    }

    async fn send(&self, job: &MailJob) -> Result<(), StoreDown> {
        match self.mailer.send(&self.letter(job)).await {
            Ok(()) => self.queue.finish(job).await.map(drop),
            Err(MailError::TryAgain(why)) => {
                let wait = self.wait(job.attempt);
                tracing::warn!(job = %job.id, attempt = job.attempt, %why, "a mail has to wait");
                self.queue.put_off(job, wait).await.map(drop)
            }
            Err(MailError::Refused(why)) => {
                tracing::error!(job = %job.id, %why, "a mail was refused for good");
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
                    code: shown(&self.pepper.code(*challenge, salt)),
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
        }
    }

    /// A time between a tenth and the whole of what doubles with each attempt, so that mails that
    /// failed together do not come again together.
    fn wait(&self, attempt: u32) -> Duration {
        let most =
            FIRST_WAIT.saturating_mul(1 << attempt.saturating_sub(1).min(10)).min(LONGEST_WAIT);
        let mut bytes = [0; 4];
        self.entropy.fill(&mut bytes);
        let part = u32::from_be_bytes(bytes) % 1000;
        most / 10 + most * part / 1000 * 9 / 10
    }
}
