//! Cursors of lists: opaque, authenticated, and good for one caller's one query alone.

use std::{fmt::Display, str::FromStr};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::Secret;
use gate::ActionPlace;
use model::{AgentId, OrgId, Timestamp};

use crate::{error::ApiError, query::Query};

/// Leads what a cursor holds; a change of the form makes old cursors 400s.
const FORM: &str = "1";
const TAG_LEN: usize = 16;

/// Makes and reads cursors.
#[derive(Debug)]
pub(crate) struct Cursors(Secret<Vec<u8>>);

impl Cursors {
    /// Returns cursors under this key, which all instances must share.
    pub(crate) fn new(key: Secret<Vec<u8>>) -> Self {
        Self(key)
    }

    /// Returns the cursor of a place in this list, as the query asked for it.
    pub(crate) fn write<S: Spot>(&self, spot: &S, list: List, query: &Query) -> String {
        let mut bytes = format!("{FORM} {}", spot.to_text()).into_bytes();
        let tag = self.tag(&bytes, list, query);
        bytes.extend(tag);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Returns the place that the query's own cursor names, if it has one.
    pub(crate) fn read<S: Spot>(&self, list: List, query: &Query) -> Result<Option<S>, ApiError> {
        let Some(text) = query.text("cursor") else { return Ok(None) };
        self.spot(text, list, query).map(Some).ok_or_else(|| {
            ApiError::invalid("cursor", "expected the `next_cursor` of a list with these filters")
        })
    }

    fn spot<S: Spot>(&self, text: &str, list: List, query: &Query) -> Option<S> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (place, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG_LEN)?)?;
        if !crypto::constant_time_eq(tag, &self.tag(place, list, query)) {
            return None;
        }
        let (FORM, spot) = std::str::from_utf8(place).ok()?.split_once(' ')? else { return None };
        S::from_text(spot)
    }

    /// Binds a place to list, org, caller and filters. How many are asked for may change from
    /// page to page.
    fn tag(&self, place: &[u8], list: List, query: &Query) -> [u8; TAG_LEN] {
        let mut filters: Vec<(&str, &str)> =
            query.pairs().filter(|(name, _)| !matches!(*name, "cursor" | "limit")).collect();
        filters.sort_unstable();
        let List { name, org, agent } = list;
        let bound = serde_json::json!([name, org, agent, filters]);
        let message = [place, bound.to_string().as_bytes()].concat();
        let mac = crypto::hmac_sha256(self.0.expose(), &message);
        let mut tag = [0; TAG_LEN];
        for (to, from) in tag.iter_mut().zip(mac) {
            *to = from;
        }
        tag
    }
}

/// A list as one caller sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    /// Which list it is; one that hangs on an object has the object's id in its places.
    pub(crate) name: &'static str,
    /// The org.
    pub(crate) org: OrgId,
    /// The one agent whose part of the list it is.
    pub(crate) agent: Option<AgentId>,
}

/// A place in a list, in the form that its cursor holds.
pub(crate) trait Spot: Sized {
    /// Returns the text of the place.
    fn to_text(&self) -> String;

    /// Returns the place that the text is.
    fn from_text(text: &str) -> Option<Self>;
}

/// A moment and an id, the place of most lists.
impl<T: Display + FromStr> Spot for (Timestamp, T) {
    fn to_text(&self) -> String {
        format!("{} {}", self.0.unix_millis(), self.1)
    }

    fn from_text(text: &str) -> Option<Self> {
        let (millis, id) = text.split_once(' ')?;
        Some((Timestamp::from_unix_millis(millis.parse().ok()?), id.parse().ok()?))
    }
}

/// A number that counts down, such as a version's or a turn's.
impl Spot for u64 {
    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Spot for ActionPlace {
    fn to_text(&self) -> String {
        (self.created_at, self.id).to_text()
    }

    fn from_text(text: &str) -> Option<Self> {
        let (created_at, id) = Spot::from_text(text)?;
        Some(Self { created_at, id })
    }
}
