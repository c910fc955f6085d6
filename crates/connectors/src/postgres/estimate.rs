//! What a call would do, asked by the tool's own `estimate_sql`: a query in a transaction that may
//! only read and is always rolled back.

use std::time::Duration;

use futures_util::TryStreamExt;
use serde_json::{Map, Value};
use tokio::time::timeout;
use tool::{Estimate, Estimated};

use super::{
    PostgresTool, fault::of_statement, governed::SMALL_ANSWER, run::object, session::Access,
    shape::Shape,
};

/// The most rows that an estimate tells of.
const MOST_ROWS: usize = 100;

impl PostgresTool {
    /// Asks once; an answer that does not come leaves the call as it is.
    pub(super) async fn estimate_once(&self, args: &Value, limit: Duration) -> Estimate {
        let Some(shape) = &self.estimate else { return Estimate::NotOffered };
        match timeout(limit, self.ask(shape, args, limit)).await {
            Ok(Ok(estimated)) => Estimate::Given(estimated),
            Ok(Err(why)) => {
                tracing::warn!(tool = %self.definition.name, why, "an estimate failed");
                Estimate::Failed
            }
            Err(_) => Estimate::Late,
        }
    }

    async fn ask(&self, shape: &Shape, args: &Value, limit: Duration) -> Result<Estimated, String> {
        let said = |error: tokio_postgres::Error| of_statement(&error).message;
        let values = shape.bind(args)?;
        let pace = self.governed.pace(limit);
        let begun = self
            .governed
            .begin(&self.governed.reads, Access::ReadOnly, (&pace, SMALL_ANSWER))
            .await;
        let (mut lease, _) = begun.map_err(|cause| cause.fault().message)?;
        // A plan that was made before a table was altered would not run.
        lease.session.forget(&shape.text);
        let statement = lease.session.prepared(&shape.text).await.map_err(said);
        let rows = match statement {
            Ok(statement) if shape.is_of(&statement) => {
                let query = lease.session.client.query_raw(&statement, values).await;
                match query {
                    Ok(stream) => collected(stream).await,
                    Err(error) => Err(said(error)),
                }
            }
            Ok(_) => Err("the statement has different types than when it was defined".to_owned()),
            Err(why) => Err(why),
        };
        lease.roll_back().await;
        rows
    }
}

async fn collected(stream: tokio_postgres::RowStream) -> Result<Estimated, String> {
    let said = |error: tokio_postgres::Error| of_statement(&error).message;
    let mut stream = Box::pin(stream);
    let mut rows = Vec::new();
    while let Some(row) = stream.try_next().await.map_err(said)? {
        if rows.len() >= MOST_ROWS {
            return Ok(Estimated { rows, is_whole: false });
        }
        let object: Map<String, Value> = object(&row).map_err(said)?;
        rows.push(Value::Object(object));
    }
    Ok(Estimated { rows, is_whole: true })
}
