//! Access rules: a rule is the only maker of its caller, and a handler takes the caller it needs,
//! so that a route with the wrong rule does not compile. Which rules there are is said by each
//! face of the service.

use std::net::IpAddr;

use crate::{
    credential::Credential,
    error::ApiError,
    state::{Place, State, Trust},
    table::Patience,
};

/// A rule that makes callers of type `C` from holders of type `H`.
pub struct Access<H, C> {
    /// The rule's name, as tables show it.
    pub name: &'static str,
    /// Who passes, in words.
    pub who: &'static str,
    admit: Admit<H, C>,
}

/// A request for admission.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionRequest<'a> {
    /// The credential, if there is one.
    pub shown: Option<&'a Credential>,
    /// The address of the client, if it is known.
    pub client: Option<IpAddr>,
    /// How long the lookup may take.
    pub patience: Patience,
    /// Whether the credential is looked up again.
    pub trust: Trust,
}

enum Admit<H, C> {
    /// No credential is looked at.
    Anyone(fn() -> C),
    /// The credential decides.
    Holder(fn(H) -> Result<C, ApiError>),
}

impl<H, C> Clone for Access<H, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H, C> Copy for Access<H, C> {}

impl<H, C> Clone for Admit<H, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H, C> Copy for Admit<H, C> {}

impl<H, C> std::fmt::Debug for Access<H, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<H, C> Access<H, C> {
    /// A rule that looks at no credential.
    pub const fn anyone(name: &'static str, who: &'static str, caller: fn() -> C) -> Self {
        Self { name, who, admit: Admit::Anyone(caller) }
    }

    /// A rule that the credential's holder decides.
    pub const fn holder(
        name: &'static str,
        who: &'static str,
        admit: fn(H) -> Result<C, ApiError>,
    ) -> Self {
        Self { name, who, admit: Admit::Holder(admit) }
    }

    /// The caller that this holder is under the rule, for whoever asks in their name for what stands
    /// behind it.
    pub fn of(self, holder: H) -> Result<C, ApiError> {
        match self.admit {
            Admit::Anyone(caller) => Ok(caller()),
            Admit::Holder(admit) => admit(holder),
        }
    }

    /// Whether any credential is looked at.
    pub(crate) fn looks(self) -> bool {
        matches!(self.admit, Admit::Holder(_))
    }

    /// The caller that the request's credential makes under this rule, and its place among the
    /// requests of this kind.
    pub async fn admit(
        self,
        asked: AdmissionRequest<'_>,
        state: &impl State<Holder = H>,
    ) -> Result<(C, Place), ApiError> {
        match self.admit {
            Admit::Anyone(caller) => Ok((caller(), Place::unbounded())),
            Admit::Holder(admit) => {
                let holder = holder(asked, state).await?;
                let place = state.place(&holder, asked.patience)?.numbered(state.number(&holder));
                admit(holder).map(|caller| (caller, place))
            }
        }
    }
}

/// Who sent the request, or the 401 that tells nobody why.
async fn holder<S: State>(asked: AdmissionRequest<'_>, state: &S) -> Result<S::Holder, ApiError> {
    let (found, refused) = match asked.shown {
        None => return Err(ApiError::unauthenticated("send an API key as a bearer token")),
        Some(Credential::Key(key)) => {
            (state.holder(key, asked.client).await, "the API key is not valid")
        }
        Some(Credential::Session(token)) => {
            (state.signed_in(token, asked.trust).await, "the session has ended; sign in again")
        }
    };
    match found {
        Ok(Some(holder)) => Ok(holder),
        Ok(None) => Err(ApiError::unauthenticated(refused)),
        Err(error) => Err(ApiError::unavailable_because(
            "credentials cannot be checked at the moment",
            &error,
        )),
    }
}
