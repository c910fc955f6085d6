//! Values of results: the server's binary form into JSON.

use std::{error::Error, str};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use tokio_postgres::types::{FromSql, Type};

use super::{Codec, json_text, moment, number};

/// One value of a result.
#[derive(Debug)]
pub(in crate::postgres) struct Cell(pub(in crate::postgres) Value);

/// A value that is not what its type says, or that JSON cannot hold.
#[derive(Debug, thiserror::Error)]
pub(in crate::postgres) enum BadCell {
    #[error("a value of the type `{0}` could not be read")]
    Malformed(String),
    #[error("an array does not start at 1, which JSON cannot say: cast it to text")]
    LowerBound,
}

impl<'a> FromSql<'a> for Cell {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(value(&Codec::of(ty), raw).map_err(|fault| match fault {
            Misread::Malformed => BadCell::Malformed(ty.name().to_owned()),
            Misread::LowerBound => BadCell::LowerBound,
        })?))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(Value::Null))
    }

    fn accepts(ty: &Type) -> bool {
        !Codec::of(ty).is_opaque()
    }
}

enum Misread {
    Malformed,
    LowerBound,
}

fn value(codec: &Codec, raw: &[u8]) -> Result<Value, Misread> {
    if let Codec::Array(member) = codec {
        return array(member, raw);
    }
    scalar(codec, raw).ok_or(Misread::Malformed)
}

fn scalar(codec: &Codec, raw: &[u8]) -> Option<Value> {
    Some(match codec {
        Codec::Bool => match raw {
            [0] => false.into(),
            [1] => true.into(),
            _ => return None,
        },
        Codec::Small => small(raw)?,
        Codec::Oid => u32::from_be_bytes(raw.try_into().ok()?).into(),
        Codec::Big => number::integer(i64::from_be_bytes(raw.try_into().ok()?)),
        Codec::Numeric => number::numeric(raw)?.into(),
        Codec::Float4 => number::float4(f32::from_be_bytes(raw.try_into().ok()?)),
        Codec::Float8 => number::float(f64::from_be_bytes(raw.try_into().ok()?)),
        Codec::Text => text(raw)?.into(),
        Codec::Uuid => uuid(raw.try_into().ok()?).into(),
        Codec::Bytes => STANDARD.encode(raw).into(),
        Codec::Date => moment::date(i32::from_be_bytes(raw.try_into().ok()?)).into(),
        Codec::Time => moment::time(i64::from_be_bytes(raw.try_into().ok()?)).into(),
        Codec::Timestamp => moment::timestamp(i64::from_be_bytes(raw.try_into().ok()?), "").into(),
        Codec::TimestampTz => {
            moment::timestamp(i64::from_be_bytes(raw.try_into().ok()?), "Z").into()
        }
        Codec::Json => json_text::value(text(raw)?),
        // The binary form of `jsonb` is a version byte and the text.
        Codec::Jsonb => json_text::value(text(raw.strip_prefix(&[1])?)?),
        Codec::Array(_) | Codec::Opaque => return None,
    })
}

fn text(raw: &[u8]) -> Option<&str> {
    str::from_utf8(raw).ok()
}

/// `int2` has two bytes, `int4` has four.
fn small(raw: &[u8]) -> Option<Value> {
    match *raw {
        [a, b] => Some(i16::from_be_bytes([a, b]).into()),
        [a, b, c, d] => Some(i32::from_be_bytes([a, b, c, d]).into()),
        _ => None,
    }
}

fn uuid(bytes: [u8; 16]) -> String {
    let number = u128::from_be_bytes(bytes);
    let part = |shift: u32, bits: u32| number >> shift & ((1 << bits) - 1);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        part(96, 32),
        part(80, 16),
        part(64, 16),
        part(48, 16),
        part(0, 48)
    )
}

/// The binary form of an array: dimensions, a flag, the member type, then each dimension's length
/// and first index, then the members in row-major order, each with its length or -1 for null.
fn array(member: &Codec, raw: &[u8]) -> Result<Value, Misread> {
    let mut bytes = Bytes(raw);
    let dimensions = bytes.int()?;
    let _has_nulls = bytes.int()?;
    let _member_type = bytes.int()?;
    let mut lengths = Vec::new();
    for _ in 0..dimensions {
        lengths.push(usize::try_from(bytes.int()?).map_err(|_| Misread::Malformed)?);
        if bytes.int()? != 1 {
            return Err(Misread::LowerBound);
        }
    }
    if lengths.is_empty() {
        return Ok(Value::Array(Vec::new()));
    }
    members(member, &lengths, &mut bytes)
}

fn members(member: &Codec, lengths: &[usize], bytes: &mut Bytes<'_>) -> Result<Value, Misread> {
    let Some((length, inner)) = lengths.split_first() else {
        return match usize::try_from(bytes.int()?) {
            Ok(size) => value(member, bytes.take(size)?),
            Err(_) => Ok(Value::Null),
        };
    };
    (0..*length).map(|_| members(member, inner, bytes)).collect::<Result<_, _>>().map(Value::Array)
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, size: usize) -> Result<&'a [u8], Misread> {
        let (taken, rest) = self.0.split_at_checked(size).ok_or(Misread::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn int(&mut self) -> Result<i32, Misread> {
        let (taken, rest) = self.0.split_first_chunk::<4>().ok_or(Misread::Malformed)?;
        self.0 = rest;
        Ok(i32::from_be_bytes(*taken))
    }
}
