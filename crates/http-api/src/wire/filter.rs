//! The query of `GET /v1/actions`.

use std::{fmt, str::FromStr};

use gate::{Filter, ShadowDiffers};
use model::{AgentId, Timestamp, TimestampError};
use web::{ApiError, Param, Query};

/// The parameters of the list.
pub(crate) const LIST: &[Param] = &[
    Param::One("agent"),
    Param::One("tool"),
    Param::One("state"),
    Param::One("decision"),
    Param::One("verdict"),
    Param::One("level"),
    Param::One("on_behalf_of"),
    Param::One("created_at[gte]"),
    Param::One("created_at[lt]"),
    Param::One("q"),
    Param::One("shadow_differs"),
    Param::One("limit"),
    Param::One("cursor"),
];

/// What the list is asked for, its page aside.
pub(crate) fn action_filter(query: &Query) -> Result<Filter, ApiError> {
    Ok(Filter {
        agent: query.parse::<AgentId>("agent")?,
        tool: tool(query)?,
        states: query.list("state")?,
        decisions: query.list("decision")?,
        verdicts: query.list("verdict")?,
        levels: query.list("level")?,
        on_behalf_of: within(query, "on_behalf_of", 1..=256)?,
        from: moment(query, "created_at[gte]")?,
        to: moment(query, "created_at[lt]")?,
        text: within(query, "q", 2..=64)?,
        shadow_differs: shadow_differs(query)?,
    })
}

/// Reads a moment that a query names.
pub(super) fn moment(query: &Query, name: &'static str) -> Result<Option<Timestamp>, ApiError> {
    Ok(query.parse::<Moment>(name)?.map(|Moment(time)| time))
}

pub(super) fn tool(query: &Query) -> Result<Option<policy::Glob>, ApiError> {
    let read = |text| policy::Glob::parse(text);
    let glob = query.text("tool").map(read).transpose();
    glob.map_err(|error| ApiError::invalid("tool", error.to_string()))
}

pub(super) fn within(
    query: &Query,
    name: &'static str,
    bounds: std::ops::RangeInclusive<usize>,
) -> Result<Option<String>, ApiError> {
    let Some(text) = query.text(name) else { return Ok(None) };
    if bounds.contains(&text.chars().count()) {
        return Ok(Some(text.to_owned()));
    }
    let message = format!("expected {} to {} characters", bounds.start(), bounds.end());
    Err(ApiError::invalid(name, message))
}

fn shadow_differs(query: &Query) -> Result<Option<ShadowDiffers>, ApiError> {
    match query.text("shadow_differs") {
        None => Ok(None),
        Some("true") => Ok(Some(ShadowDiffers)),
        Some(_) => Err(ApiError::invalid("shadow_differs", "expected `true`")),
    }
}

/// A time as callers write it, with any offset.
pub(super) struct Moment(pub(super) Timestamp);

impl FromStr for Moment {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        Timestamp::parse_rfc3339(text).map(Self)
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
