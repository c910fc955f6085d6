//! Values that count what they take on their way to the database.
//!
//! The driver keeps two buffers for each connection, which are as long as the longest message that
//! went through and are never made smaller. A connection that has sent much at once is therefore
//! closed, and the next call opens another.

use std::{
    error::Error,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use bytes::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type};

/// What a connection may have sent at once and stay open.
const KEPT: usize = 256 * 1024;

/// The bytes of values that went over a connection in one go.
#[derive(Debug, Default)]
pub(crate) struct Weight(AtomicUsize);

impl Weight {
    /// Whether the connection's buffers are not worth to be kept.
    pub(crate) fn is_heavy(&self) -> bool {
        self.0.load(Relaxed) > KEPT
    }
}

/// A value that adds what it takes to a weight.
#[derive(Debug)]
pub(crate) struct Weighed<'a> {
    pub(crate) value: &'a (dyn ToSql + Sync),
    pub(crate) weight: &'a Weight,
}

type Written = Result<IsNull, Box<dyn Error + Sync + Send>>;

impl ToSql for Weighed<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Written {
        self.to_sql_checked(ty, out)
    }

    fn accepts(_: &Type) -> bool {
        // The value itself is asked when it is written.
        true
    }

    fn to_sql_checked(&self, ty: &Type, out: &mut BytesMut) -> Written {
        let before = out.len();
        let written = self.value.to_sql_checked(ty, out);
        self.weight.0.fetch_add(out.len().saturating_sub(before), Relaxed);
        written
    }

    fn encode_format(&self, ty: &Type) -> Format {
        self.value.encode_format(ty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_lists_are_weighed_together() {
        let weight = Weight::default();
        let texts = vec!["x".repeat(KEPT / 2)];
        let mut out = BytesMut::new();
        for _ in 0..2 {
            assert!(!weight.is_heavy());
            let value = Weighed { value: &texts, weight: &weight };
            value.to_sql_checked(&Type::TEXT_ARRAY, &mut out).unwrap();
        }
        assert!(weight.is_heavy());
        let misfit = Weighed { value: &1_i64, weight: &weight };
        assert!(misfit.to_sql_checked(&Type::TEXT, &mut out).is_err());
    }
}
