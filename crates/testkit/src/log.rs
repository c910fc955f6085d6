//! A change log that tells what the test told it to.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use gate::{ChangeLog, Sought};
use ledger::StoreDown;
use model::LogAnswer;

/// A change log in memory. Once it has told everything, it was not read far enough.
#[derive(Debug, Default)]
pub struct ScriptedLog {
    answers: Mutex<VecDeque<LogAnswer>>,
    asked: Mutex<Vec<Sought>>,
}

impl ScriptedLog {
    /// A log that gives these answers, one after the other.
    pub fn of(answers: impl IntoIterator<Item = LogAnswer>) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() }
    }

    /// What it was asked about so far.
    pub fn asked(&self) -> Vec<Sought> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl ChangeLog for ScriptedLog {
    async fn told(&self, sought: &Sought, _: Duration) -> Result<LogAnswer, StoreDown> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(sought.clone());
        let next = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Ok(next.unwrap_or(LogAnswer::NotYet { read_to: None }))
    }
}
