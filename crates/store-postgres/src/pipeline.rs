//! Sends several statements at once and takes their answers as they come.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

use tokio_postgres::{Client, Error, Row, Statement};

use crate::database::Call;

/// The rows of each statement, in order.
pub(crate) type Answers = Vec<Vec<Row>>;

/// The first statement that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    /// Its place.
    pub(crate) at: usize,
    pub(crate) error: Error,
    pub(crate) reach: Reach,
}

/// How much had been sent when a statement failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Nothing after the failed statement.
    CutOff,
    /// Every statement.
    Whole,
}

type Asked<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>, Error>> + Send + 'a>>;

/// Returns the rows of every statement, or the first failure.
///
/// The driver queues a statement when its future is polled for the first time, so the first pass
/// sends all of them in order, in one go. A statement that cannot even be sent cuts the pass off:
/// a commit behind it must not go out without it.
pub(crate) async fn send(
    client: &Client,
    statements: &[Statement],
    calls: &[Call<'_>],
) -> Result<Answers, Failed> {
    let mut asked: Vec<(Asked<'_>, Option<Vec<Row>>)> = statements
        .iter()
        .zip(calls)
        .map(|(statement, call)| {
            let asked = async move { client.query(statement, &call.borrowed()).await };
            (Box::pin(asked) as Asked<'_>, None)
        })
        .collect();
    let mut reach = Reach::CutOff;
    poll_fn(|cx| {
        for (at, (future, rows)) in asked.iter_mut().enumerate() {
            if rows.is_some() {
                continue;
            }
            match future.as_mut().poll(cx) {
                Poll::Ready(Ok(answer)) => *rows = Some(answer),
                Poll::Ready(Err(error)) => {
                    return Poll::Ready(Err(Failed { at, error, reach }));
                }
                Poll::Pending => {}
            }
        }
        reach = Reach::Whole;
        let all = asked.iter().all(|(_, rows)| rows.is_some());
        if all { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await?;
    Ok(asked.into_iter().map(|(_, rows)| rows.unwrap_or_default()).collect())
}
