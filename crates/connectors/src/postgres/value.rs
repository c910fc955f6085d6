//! How values cross between JSON and PostgreSQL, both ways without loss.
//!
//! [`Codec`] is the one table of types. Arguments go to the server as text, which its own input
//! functions read; results come back binary. A statement that takes or returns a value of another
//! type is refused when the connector is built, with the cast that it needs.

mod bind;
mod json_text;
mod moment;
mod number;
mod read;
mod told;
mod unknown;

use serde::{Deserialize, Serialize};
use tokio_postgres::types::{Kind, Type};

pub(super) use bind::{Argument, encode};
pub(super) use read::Cell;
pub(super) use told::told;
pub(super) use unknown::{type_name, why_unfit};

/// What a value of a PostgreSQL type is in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Codec {
    /// A boolean.
    Bool,
    /// `int2`, `int4`: a number.
    Small,
    /// `oid`: a number.
    Oid,
    /// `int8`: a number, or a text of digits where a double would round it.
    Big,
    /// `numeric`: a text; a number is taken as an argument.
    Numeric,
    /// `float4`: a number, or a text where JSON has none.
    Float4,
    /// `float8`: a number, or a text where JSON has none.
    Float8,
    /// A text.
    Text,
    /// `uuid`: a text.
    Uuid,
    /// `bytea`: base64.
    Bytes,
    /// `date`: `2024-01-31`.
    Date,
    /// `time`: `13:37:00.000000`.
    Time,
    /// `timestamp`: RFC 3339 without an offset.
    Timestamp,
    /// `timestamptz`: RFC 3339 in UTC.
    TimestampTz,
    /// `json`: itself.
    Json,
    /// `jsonb`: itself.
    Jsonb,
    /// An array.
    Array(Box<Codec>),
    /// Any other type, whose values do not cross. A tool that an earlier version accepted may have
    /// one as a parameter.
    Opaque,
}

impl Codec {
    /// How values of the type cross.
    pub(super) fn of(ty: &Type) -> Self {
        if let Some((_, codec)) = TYPES.iter().find(|(known, _)| known == ty) {
            return codec.clone();
        }
        match ty.kind() {
            Kind::Array(member) => Self::Array(Box::new(Self::of(member))),
            Kind::Domain(base) => Self::of(base),
            Kind::Enum(_) => Self::Text,
            _ if ty.name() == "citext" => Self::Text,
            _ => Self::Opaque,
        }
    }

    /// Whether values of the type do not cross.
    pub(super) fn is_opaque(&self) -> bool {
        match self {
            Self::Opaque => true,
            Self::Array(member) => member.is_opaque(),
            Self::Bool
            | Self::Small
            | Self::Oid
            | Self::Big
            | Self::Numeric
            | Self::Float4
            | Self::Float8
            | Self::Text
            | Self::Uuid
            | Self::Bytes
            | Self::Date
            | Self::Time
            | Self::Timestamp
            | Self::TimestampTz
            | Self::Json
            | Self::Jsonb => false,
        }
    }
}

const TYPES: &[(Type, Codec)] = &[
    (Type::BOOL, Codec::Bool),
    (Type::INT2, Codec::Small),
    (Type::INT4, Codec::Small),
    (Type::OID, Codec::Oid),
    (Type::INT8, Codec::Big),
    (Type::NUMERIC, Codec::Numeric),
    (Type::FLOAT4, Codec::Float4),
    (Type::FLOAT8, Codec::Float8),
    (Type::TEXT, Codec::Text),
    (Type::VARCHAR, Codec::Text),
    (Type::BPCHAR, Codec::Text),
    (Type::NAME, Codec::Text),
    (Type::UNKNOWN, Codec::Text),
    (Type::UUID, Codec::Uuid),
    (Type::BYTEA, Codec::Bytes),
    (Type::DATE, Codec::Date),
    (Type::TIME, Codec::Time),
    (Type::TIMESTAMP, Codec::Timestamp),
    (Type::TIMESTAMPTZ, Codec::TimestampTz),
    (Type::JSON, Codec::Json),
    (Type::JSONB, Codec::Jsonb),
];
