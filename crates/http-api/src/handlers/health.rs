//! How the server is, looked at no more than once a second.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use serde_json::{Map, Value, json};
use tokio::{sync::Mutex, time::Instant};
use web::{ApiError, Call, Phase, Reply};

use crate::{
    access::Anyone,
    app::{App, Check, Condition, Probe},
};

/// How long a look at the parts holds.
const CACHED_FOR: Duration = Duration::from_secs(1);
/// The longest a look may take; a probe that hangs is a part that is down.
const PROBE_TIME: Duration = Duration::from_secs(2);

/// The last look at the server's parts.
pub(crate) struct Health {
    probe: Arc<dyn Probe>,
    last: Mutex<Option<(Instant, Vec<Check>)>>,
}

impl Health {
    pub(crate) fn new(probe: Arc<dyn Probe>) -> Self {
        Self { probe, last: Mutex::new(None) }
    }

    /// Returns how each part is; whoever asks while somebody looks gets the same answer.
    async fn checks(&self) -> Vec<Check> {
        let mut last = self.last.lock().await;
        if let Some((at, checks)) = &*last
            && at.elapsed() < CACHED_FOR
        {
            return checks.clone();
        }
        let hung = vec![Check { name: "probe", condition: Condition::Down }];
        let checks = tokio::time::timeout(PROBE_TIME, self.probe.checks()).await.unwrap_or(hung);
        *last = Some((Instant::now(), checks.clone()));
        checks
    }
}

/// `GET /v1/health`
pub(crate) async fn health(app: Arc<App>, _: Anyone, _: Call) -> Result<Reply, ApiError> {
    let checks = app.health.checks().await;
    let worst = checks.iter().map(|check| check.condition).max().unwrap_or(Condition::Ok);
    let (code, status) = match (app.lifecycle.phase(), worst) {
        (Phase::Draining | Phase::Closing, _) => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
        (Phase::Serving, Condition::Down) => (StatusCode::SERVICE_UNAVAILABLE, word(worst)),
        (Phase::Serving, Condition::Ok | Condition::Degraded) => (StatusCode::OK, word(worst)),
    };
    let parts: Map<String, Value> =
        checks.iter().map(|check| (check.name.to_owned(), word(check.condition).into())).collect();
    Ok(Reply::json(code, &json!({ "object": "health", "status": status, "checks": parts })))
}

fn word(condition: Condition) -> &'static str {
    match condition {
        Condition::Ok => "ok",
        Condition::Degraded => "degraded",
        Condition::Down => "down",
    }
}
