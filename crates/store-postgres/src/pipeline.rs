//! Sends several statements at once and takes their answers as they come.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

use tokio_postgres::{Client, Error, Row, Statement, types::ToSql};

use crate::{database::Call, weighed::Weight};

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

type PendingRows<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>, Error>> + Send + 'a>>;

/// The rows of every statement, or the first failure.
///
/// The driver queues a statement when its future is polled for the first time, so the first pass
/// sends all of them in order, in one go. A statement that cannot even be sent cuts the pass off:
/// a commit behind it must not go out without it.
pub(crate) async fn send(
    client: &Client,
    statements: &[Statement],
    calls: &[Call<'_>],
    weight: &Weight,
) -> Result<Answers, Failed> {
    let mut asked: Vec<(PendingRows<'_>, Answered)> = statements
        .iter()
        .zip(calls)
        .map(|(statement, call)| {
            let asked = async move {
                let values = call.weighed(weight);
                let values: Vec<_> = values.iter().map(|it| it as &(dyn ToSql + Sync)).collect();
                client.query(statement, &values).await
            };
            (Box::pin(asked) as PendingRows<'_>, None)
        })
        .collect();
    let mut reach = Reach::CutOff;
    poll_fn(|cx| {
        for (at, (future, answered)) in asked.iter_mut().enumerate() {
            if answered.is_some() {
                continue;
            }
            match future.as_mut().poll(cx) {
                // What the server answers, it answers to what it got; the rest may follow.
                Poll::Ready(Err(error)) if cut_off(reach, &error) => {
                    return Poll::Ready(Err(Failed { at, error, reach }));
                }
                Poll::Ready(answer) => *answered = Some(answer),
                Poll::Pending => {}
            }
        }
        reach = Reach::Whole;
        first_open(&mut asked)
    })
    .await?;
    let rows = |(_, answered): (PendingRows<'_>, Answered)| answered.and_then(Result::ok);
    Ok(asked.into_iter().map(|asked| rows(asked).unwrap_or_default()).collect())
}

/// Whether a statement failed before it was sent.
fn cut_off(reach: Reach, error: &Error) -> bool {
    reach == Reach::CutOff && error.as_db_error().is_none()
}

type Answered = Option<Result<Vec<Row>, Error>>;

/// The first failure in the order of the statements. An answer may be seen before that of
/// an earlier statement, and what aborted the transaction is the earlier one's error alone.
fn first_open(asked: &mut [(PendingRows<'_>, Answered)]) -> Poll<Result<(), Failed>> {
    for (at, (_, answered)) in asked.iter_mut().enumerate() {
        match answered.take() {
            None => return Poll::Pending,
            Some(Err(error)) => {
                return Poll::Ready(Err(Failed { at, error, reach: Reach::Whole }));
            }
            Some(Ok(rows)) => *answered = Some(Ok(rows)),
        }
    }
    Poll::Ready(Ok(()))
}
