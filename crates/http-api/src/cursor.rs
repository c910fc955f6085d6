//! Cursors of lists: opaque, authenticated, and good for one caller's one query alone.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::Secret;
use gate::Place;
use model::Timestamp;

use crate::{access::Reader, error::ApiError, query::Query};

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

    /// Returns the cursor of a place in the list that this caller asked for.
    pub(crate) fn write(&self, place: Place, caller: &Reader, query: &Query) -> String {
        let mut bytes =
            format!("{FORM} {} {}", place.created_at.unix_millis(), place.id).into_bytes();
        let tag = self.tag(&bytes, caller, query);
        bytes.extend(tag);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Returns the place that the query's own cursor names, if it has one.
    pub(crate) fn read(&self, caller: &Reader, query: &Query) -> Result<Option<Place>, ApiError> {
        let Some(text) = query.text("cursor") else { return Ok(None) };
        self.place(text, caller, query).map(Some).ok_or_else(|| {
            ApiError::invalid("cursor", "expected the `next_cursor` of a list with these filters")
        })
    }

    fn place(&self, text: &str, caller: &Reader, query: &Query) -> Option<Place> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (place, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG_LEN)?)?;
        if !crypto::constant_time_eq(tag, &self.tag(place, caller, query)) {
            return None;
        }
        let mut parts = std::str::from_utf8(place).ok()?.split(' ');
        let (FORM, millis, id) = (parts.next()?, parts.next()?, parts.next()?) else { return None };
        let created_at = Timestamp::from_unix_millis(millis.parse().ok()?);
        Some(Place { created_at, id: id.parse().ok()? })
    }

    /// Binds a place to org, caller and filters. How many are asked for may change from page to
    /// page.
    fn tag(&self, place: &[u8], caller: &Reader, query: &Query) -> [u8; TAG_LEN] {
        let mut filters: Vec<(&str, &str)> =
            query.pairs().filter(|(name, _)| !matches!(*name, "cursor" | "limit")).collect();
        filters.sort_unstable();
        let bound = serde_json::json!(["actions", caller.org(), caller.only_agent(), filters]);
        let message = [place, bound.to_string().as_bytes()].concat();
        let mac = crypto::hmac_sha256(self.0.expose(), &message);
        let mut tag = [0; TAG_LEN];
        for (to, from) in tag.iter_mut().zip(mac) {
            *to = from;
        }
        tag
    }
}
