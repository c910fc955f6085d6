//! How a connector says who it is: a header made from its credential, or a token that is fetched with
//! it.

use base64::{Engine, engine::general_purpose::STANDARD};
use crypto::Secret;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use model::{ExecutionErrorCode as Code, Fault};
use tokio::time::Instant;
use upstream::Client;

use super::{
    config::{self, free_header},
    token::Tokens,
};
use crate::{BuildError, Credential, CredentialField, CredentialKind, Finding};

pub(super) const BEARER: &str = "bearer";
pub(super) const BASIC: &str = "basic";
pub(super) const HEADER: &str = "header";
pub(super) const CLIENT_CREDENTIALS: &str = "oauth2_client_credentials";
pub(super) const CLIENT_CERTIFICATE: &str = "client_certificate";

/// The field of the key that belongs to the certificate that the config shows.
pub(super) const CLIENT_KEY: &str = "client_key";

const KEY: CredentialField = CredentialField {
    name: CLIENT_KEY,
    required: false,
    description: "The private key of `tls.client_certificate_pem`, as PEM, if the config has one.",
};

const fn needed(name: &'static str, description: &'static str) -> CredentialField {
    CredentialField { name, required: true, description }
}

const fn optional(name: &'static str, description: &'static str) -> CredentialField {
    CredentialField { name, required: false, description }
}

/// The kinds of credentials that a connector of this type can have.
pub(super) const KINDS: &[CredentialKind] = &[
    CredentialKind {
        kind: BEARER,
        fields: &[needed("token", "The token, sent as `Authorization: Bearer`."), KEY],
    },
    CredentialKind {
        kind: BASIC,
        fields: &[
            needed("username", "The user's name, sent as `Authorization: Basic`."),
            needed("password", "The user's password."),
            KEY,
        ],
    },
    CredentialKind {
        kind: HEADER,
        fields: &[
            needed("name", "The header's name, such as `X-API-Key`."),
            needed("value", "The header's value."),
            KEY,
        ],
    },
    CredentialKind {
        kind: CLIENT_CREDENTIALS,
        fields: &[
            needed("token_url", "The address that tokens are fetched from."),
            needed("client_id", "The client's id."),
            needed("client_secret", "The client's secret."),
            optional("scope", "The scopes to request, separated by spaces."),
            optional("audience", "The audience to request, if the server requires one."),
            KEY,
        ],
    },
    CredentialKind {
        kind: CLIENT_CERTIFICATE,
        fields: &[needed(
            CLIENT_KEY,
            "The private key of `tls.client_certificate_pem`, as PEM; only the certificate authenticates the client.",
        )],
    },
];

/// Who a connector says that it is.
#[derive(Debug)]
pub(super) enum Identity {
    /// Nobody: the API does not ask, or the certificate says it.
    Unsaid,
    /// The same header with every request.
    Header(HeaderName, HeaderValue),
    /// A token that is fetched and lives for a while.
    Tokens(Box<Tokens>),
    /// It has no credential and needs one.
    Missing,
}

/// A header that says who asks; what it was made from is needed to know a stale one.
#[derive(Debug, Clone)]
pub(super) struct Proof(pub(super) Option<(HeaderName, HeaderValue)>);

impl Proof {
    pub(super) fn add_to(&self, headers: &mut HeaderMap) {
        if let Some((name, value)) = &self.0 {
            headers.insert(name.clone(), value.clone());
        }
    }
}

impl Identity {
    /// Who the credential says that the connector is.
    pub(super) fn of(credential: &Credential, auth: config::Auth) -> Result<Self, BuildError> {
        let is_empty = credential.names().next().is_none();
        match (auth, is_empty) {
            (config::Auth::Credential, true) => return Ok(Self::Missing),
            (config::Auth::None, true) => return Ok(Self::Unsaid),
            (config::Auth::None, false) => {
                let message = "the connector has a credential, but `auth` in its config is `none`: \
                    remove the credential, or set `auth` to `credential`";
                return Err(BuildError::Config { findings: vec![Finding::new("/auth", message)] });
            }
            (config::Auth::Credential, false) => {}
        }
        match credential.kind() {
            Some(BEARER) => {
                let token = field(credential, "token")?;
                header_of("token", header::AUTHORIZATION, format!("Bearer {}", token.expose()))
            }
            Some(BASIC) => {
                let (user, password) =
                    (field(credential, "username")?, field(credential, "password")?);
                if user.expose().contains(':') {
                    return Err(unfit("username", "expected a name without a colon"));
                }
                let pair = Secret::new(format!("{}:{}", user.expose(), password.expose()));
                let value = format!("Basic {}", STANDARD.encode(pair.expose()));
                header_of("password", header::AUTHORIZATION, value)
            }
            Some(HEADER) => {
                let (name, value) = (field(credential, "name")?, field(credential, "value")?);
                let name = name.expose();
                let is_free = name.eq_ignore_ascii_case("authorization")
                    || name.eq_ignore_ascii_case("cookie")
                    || free_header(name).is_some();
                let name = HeaderName::try_from(name).ok().filter(|_| is_free);
                let name = name.ok_or_else(|| {
                    unfit("name", "expected the name of a header that the connector does not set")
                })?;
                header_of("value", name, value.expose().clone())
            }
            Some(CLIENT_CREDENTIALS) => Ok(Self::Tokens(Box::new(Tokens::of(credential)?))),
            Some(CLIENT_CERTIFICATE) => {
                field(credential, CLIENT_KEY)?;
                Ok(Self::Unsaid)
            }
            _ => {
                let kinds: Vec<_> = KINDS.iter().map(|known| format!("`{}`", known.kind)).collect();
                Err(unfit("kind", &format!("expected one of {}", kinds.join(", "))))
            }
        }
    }

    /// What is sent along to say who asks.
    pub(super) async fn proof(&self, client: &Client, until: Instant) -> Result<Proof, Fault> {
        match self {
            Self::Unsaid => Ok(Proof(None)),
            Self::Header(name, value) => Ok(Proof(Some((name.clone(), value.clone())))),
            Self::Tokens(tokens) => {
                let value = tokens.current(client, until).await?;
                Ok(Proof(Some((header::AUTHORIZATION, value))))
            }
            Self::Missing => {
                let message = "the connector has no credential, but its config requires one";
                Err(Fault::new(Code::ConnectorAuthFailed, message))
            }
        }
    }

    /// What is sent along after the API did not take `stale`; nothing where there is no other.
    pub(super) async fn renewed(
        &self,
        stale: &Proof,
        (client, until): (&Client, Instant),
    ) -> Option<Result<Proof, Fault>> {
        match self {
            Self::Unsaid | Self::Header(..) | Self::Missing => None,
            Self::Tokens(tokens) => {
                let value = stale.0.as_ref().map(|(_, value)| value);
                if let Err(fault) = tokens.forget(value, until).await {
                    return Some(Err(fault));
                }
                Some(self.proof(client, until).await)
            }
        }
    }
}

/// A required field of the credential.
pub(super) fn field<'a>(
    credential: &'a Credential,
    name: &'static str,
) -> Result<&'a Secret<String>, BuildError> {
    credential.field(name).ok_or(BuildError::Credential { field: name })
}

/// A credential that cannot be used; its values are not told.
pub(super) fn unfit(field: &str, message: &str) -> BuildError {
    let findings = vec![Finding::new(format!("credential, `{field}`"), message)];
    BuildError::Config { findings }
}

fn header_of(field: &str, name: HeaderName, value: String) -> Result<Identity, BuildError> {
    let value = Secret::new(value);
    let value = sensitive(value.expose())
        .ok_or_else(|| unfit(field, "expected visible ASCII characters"))?;
    Ok(Identity::Header(name, value))
}

/// The value as one that no library prints.
pub(super) fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
