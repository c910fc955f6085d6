//! Lists: the page that a query asks for, the cursor that leads to the next one, and the envelope
//! around what is shown. A cursor is opaque, authenticated, and good for one caller's one query
//! alone.

use std::{fmt::Display, str::FromStr};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::Secret;
use model::{AgentId, OrgId, Timestamp};
use serde::Serialize;

use crate::{error::ApiError, query::Query};

/// Leads what a cursor holds; a change of the form makes old cursors 400s.
const FORM: &str = "1";
const TAG_LEN: usize = 16;
const MAX_LIMIT: usize = 100;
const DEFAULT_LIMIT: usize = 20;

/// Makes and reads cursors.
#[derive(Debug)]
pub struct Cursors(Secret<Vec<u8>>);

impl Cursors {
    /// Returns cursors under this key, which all instances must share.
    pub fn new(key: Secret<Vec<u8>>) -> Self {
        Self(key)
    }

    /// The page of the list that the query's `limit` and `cursor` ask for.
    pub fn page<'a, P: Position>(
        &'a self,
        list: List,
        query: &'a Query,
    ) -> Result<Page<'a, P>, ApiError> {
        let limit = query.number::<usize>("limit")?.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(ApiError::invalid("limit", "expected 1 to 100"));
        }
        let after = match query.text("cursor") {
            None => None,
            Some(text) => Some(self.read(text, list, query).ok_or_else(|| {
                let message = "expected the `next_cursor` of a list with these filters";
                ApiError::invalid("cursor", message)
            })?),
        };
        Ok(Page { after, limit, cursors: self, list, query })
    }

    fn write(&self, position: &impl Position, list: List, query: &Query) -> String {
        let mut bytes = format!("{FORM} {}", position.to_text()).into_bytes();
        let tag = self.tag(&bytes, list, query);
        bytes.extend(tag);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn read<P: Position>(&self, text: &str, list: List, query: &Query) -> Option<P> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (held, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG_LEN)?)?;
        if !crypto::constant_time_eq(tag, &self.tag(held, list, query)) {
            return None;
        }
        let (FORM, position) = std::str::from_utf8(held).ok()?.split_once(' ')? else {
            return None;
        };
        P::from_text(position)
    }

    /// Binds a position to list, org, caller and filters. How many are asked for may change from
    /// page to page.
    fn tag(&self, held: &[u8], list: List, query: &Query) -> [u8; TAG_LEN] {
        let mut filters: Vec<(&str, &str)> =
            query.pairs().filter(|(name, _)| !matches!(*name, "cursor" | "limit")).collect();
        filters.sort_unstable();
        let List { name, org, agent } = list;
        let bound = serde_json::json!([name, org, agent, filters]);
        let message = [held, bound.to_string().as_bytes()].concat();
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
pub struct List {
    /// Which list it is; one that hangs on an object has the object's id in its positions.
    pub name: &'static str,
    /// The org.
    pub org: OrgId,
    /// The one agent whose part of the list it is.
    pub agent: Option<AgentId>,
}

/// A page of a list, as a query asked for it.
#[derive(Debug)]
pub struct Page<'a, P> {
    /// The position that the page begins behind, at the list's head where there is none.
    pub after: Option<P>,
    /// How many rows it shows at most.
    pub limit: usize,
    cursors: &'a Cursors,
    list: List,
    query: &'a Query,
}

impl<P: Position> Page<'_, P> {
    /// Shows rows of which one more was read than the page shows, to see whether there is more.
    pub fn of<'r, T, V>(
        &self,
        rows: &'r [T],
        position: impl FnOnce(&T) -> P,
        view: impl FnMut(&'r T) -> V,
    ) -> ListView<V> {
        let shown = rows.get(..self.limit).unwrap_or(rows);
        self.of_part((shown, rows.len() > self.limit), position, view)
    }

    /// Shows these rows, behind which there is more or not.
    pub fn of_part<'r, T, V>(
        &self,
        (rows, has_more): (&'r [T], bool),
        position: impl FnOnce(&T) -> P,
        view: impl FnMut(&'r T) -> V,
    ) -> ListView<V> {
        let last = rows.last().filter(|_| has_more);
        let next = last.map(|row| self.cursors.write(&position(row), self.list, self.query));
        ListView {
            object: "list",
            data: rows.iter().map(view).collect(),
            has_more: next.is_some(),
            next_cursor: next,
        }
    }
}

/// The envelope of every list.
#[derive(Debug, Serialize)]
pub struct ListView<T> {
    object: &'static str,
    data: Vec<T>,
    has_more: bool,
    next_cursor: Option<String>,
}

impl<T> ListView<T> {
    /// A list with nothing behind it.
    pub fn whole(data: Vec<T>) -> Self {
        Self { object: "list", data, has_more: false, next_cursor: None }
    }
}

/// A position in a list, in the form that its cursor holds.
pub trait Position: Sized {
    /// The text of the position.
    fn to_text(&self) -> String;

    /// The position that the text is.
    fn from_text(text: &str) -> Option<Self>;
}

/// A moment and an id, the position in most lists.
impl<T: Display + FromStr> Position for (Timestamp, T) {
    fn to_text(&self) -> String {
        format!("{} {}", self.0.unix_millis(), self.1)
    }

    fn from_text(text: &str) -> Option<Self> {
        let (millis, id) = text.split_once(' ')?;
        Some((Timestamp::from_unix_millis(millis.parse().ok()?), id.parse().ok()?))
    }
}

/// A number that counts down, such as a version's or a turn's.
impl Position for u64 {
    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}
