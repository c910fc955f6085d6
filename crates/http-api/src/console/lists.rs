//! Lists as an address asks for them. What of that cannot be read is left out and told of: an old link
//! or one wrong letter is no reason to show nothing.

use std::sync::Arc;

use serde_json::Value;
use web::{ApiError, Call, Param, codes};

use super::{
    Params, Shown, Visit, parameter,
    views::{LeftOut, Listed},
};
use crate::{
    access::Access,
    app::App,
    refusal::{Answer, CallError},
};

/// How a room asks for a list.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The parameters of the read's path.
    pub(super) path: Params<'a>,
    /// What its query takes.
    pub(super) takes: &'static [Param],
    /// What the address says beside that.
    pub(super) beside: &'a [&'static str],
    /// What is asked for whatever the address says.
    pub(super) anyway: &'a str,
}

/// A list that was found.
pub(super) struct Found {
    pub(super) list: Value,
    /// What the address asks for, as the fields of a form keep it.
    pub(super) filters: Shown,
    /// What of that could not be read, and why.
    pub(super) unread: Vec<LeftOut>,
}

impl Found {
    /// What rooms with filters show of it.
    pub(super) fn listed(self) -> Listed {
        let Self { list, filters, unread } = self;
        let again =
            filters.iter().map(|(name, value)| parameter(name, value.as_str().unwrap_or_default()));
        let query = again.collect();
        Listed { list, filters, query, unread }
    }

    /// Whether the parameter of this name was left out.
    pub(super) fn lacks(&self, name: &str) -> bool {
        self.unread.iter().any(|one| one.name == name)
    }
}

impl Visit {
    /// The list that the address asks for.
    pub(super) async fn list<C, H, F>(
        &self,
        (rule, handler): (Access<C>, H),
        wanted: Wanted<'_>,
    ) -> Result<Found, CallError>
    where
        H: Fn(Arc<App>, C, Call) -> F,
        F: Future<Output = Answer>,
    {
        let Wanted { path, takes, beside, anyway } = wanted;
        let (mut filters, _) = self.filters_but(beside);
        filters.remove("cursor");
        let (mut others, mut unread) = (beside.to_vec(), Vec::new());
        loop {
            let (_, asked) = self.filters_but(&others);
            let query = format!("{asked}{anyway}");
            let refused = match self.read((rule, &handler), path, (&query, takes)).await {
                Ok(list) => return Ok(Found { list, filters, unread }),
                Err(refused) => ApiError::from(refused),
            };
            let Some(name) = self.at_fault(&refused, &others) else { return Err(refused.into()) };
            others.push(name);
            unread.push(left_out(name, refused.message()));
        }
    }

    /// The parameter of the address that a list is refused for, where the list can do without it.
    fn at_fault(&self, refused: &ApiError, left: &[&str]) -> Option<&'static str> {
        let fault = refused.param().filter(|_| refused.code() == codes::VALIDATION_FAILED)?;
        let mut sent = self.call.query.pairs().map(|(name, _)| name);
        sent.find(|name| *name == fault && !left.contains(name))
    }
}

/// What the reader of a page is told of a parameter that it does without.
pub(super) fn left_out(name: &str, why: &str) -> LeftOut {
    LeftOut { name: name.to_owned(), why: why.to_owned() }
}
