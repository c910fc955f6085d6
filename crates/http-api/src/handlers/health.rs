//! How the server is.

use std::sync::Arc;

use http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};
use web::{ApiError, Call, Phase, Reply};

use crate::{access::Anyone, app::App, health::Condition};

#[derive(Debug, Serialize)]
struct Health {
    object: &'static str,
    status: &'static str,
    checks: Map<String, Value>,
    /// Absent while there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreachable_orgs: Option<usize>,
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
    let health = Health {
        object: "health",
        status,
        checks: parts,
        unreachable_orgs: Some(app.health.unreachable_orgs()).filter(|orgs| *orgs > 0),
    };
    Ok(Reply::json(code, &health))
}

fn word(condition: Condition) -> &'static str {
    match condition {
        Condition::Ok => "ok",
        Condition::Degraded => "degraded",
        Condition::Down => "down",
    }
}
