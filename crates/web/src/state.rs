//! What a face of the service brings to the kit: the state that its handlers share, which knows
//! who holds a credential.

use std::net::IpAddr;

use async_trait::async_trait;
use crypto::Secret;
use http::Uri;
use model::RequestId;

use crate::{error::ApiError, reply::Reply, table::Patience};

/// The state that the handlers of one table share.
#[async_trait]
pub trait State: Send + Sync + 'static {
    /// Who a credential stands for.
    type Holder: Send;

    /// Who holds the key that came from this address, or `None` for one that is wrong, revoked or
    /// expired.
    async fn holder(
        &self,
        key: &Secret<String>,
        client: Option<IpAddr>,
    ) -> Result<Option<Self::Holder>, LookupError>;

    /// Who is signed in by the session with this token, or `None` for one that is wrong or ended.
    async fn signed_in(
        &self,
        _: &Secret<String>,
        _: Trust,
    ) -> Result<Option<Self::Holder>, LookupError> {
        Ok(None)
    }

    /// Whether a page of the session with this token shows this with its changes.
    fn is_csrf(&self, _: &str, _: &Secret<String>) -> bool {
        false
    }

    /// A number that the requests of one holder have in common, by which their bytes are counted.
    fn number(&self, _: &Self::Holder) -> u128 {
        0
    }

    /// What is answered in place of this refusal, where it goes to somebody who waits for a page.
    fn refused(&self, _: &ApiError, _: &Refused<'_>) -> Option<Reply> {
        None
    }

    /// The place of this holder's request among those of its kind, or why there is none for it now.
    fn place(&self, _: &Self::Holder, _: Patience) -> Result<Place, ApiError> {
        Ok(Place::unbounded())
    }
}

/// A request that was refused, as far as the words for it hang on it.
#[derive(Debug, Clone, Copy)]
pub struct Refused<'a> {
    /// The request.
    pub id: RequestId,
    /// Where it went.
    pub uri: &'a Uri,
    /// Whether it was a form, of somebody who reads pages.
    pub is_form: bool,
}

/// Whether what was read a moment ago says who somebody is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// It does: a read may come a moment after its session ended.
    Remembered,
    /// Whoever changes something is looked up.
    Anew,
    /// Whoever is answered for long is looked up meanwhile, and uses nothing by that: a session does
    /// not stay in use by a page that was left open.
    Still,
}

impl Trust {
    /// What a request with this method takes.
    pub(crate) fn of(method: &str) -> Self {
        if method == "GET" { Self::Remembered } else { Self::Anew }
    }
}

/// What a request holds from its admission to its answer; dropping it lets the next one in.
pub struct Place {
    held: Option<Box<dyn Send>>,
    whose: u128,
}

impl Place {
    /// A place of which there are as many as are asked for.
    pub const fn unbounded() -> Self {
        Self { held: None, whose: 0 }
    }

    /// The number of its holder.
    pub(crate) fn whose(&self) -> u128 {
        self.whose
    }

    /// The place, of the holder with this number.
    pub(crate) fn numbered(self, whose: u128) -> Self {
        Self { whose, ..self }
    }

    /// A place that is free again when this is dropped.
    pub fn of(held: impl Send + 'static) -> Self {
        Self { held: Some(Box::new(held)), whose: 0 }
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Place").field("is_bounded", &self.held.is_some()).finish_non_exhaustive()
    }
}

/// Credentials could not be looked up.
#[derive(Debug, thiserror::Error)]
#[error("could not check the credential")]
pub struct LookupError(#[source] pub Box<dyn std::error::Error + Send + Sync>);
