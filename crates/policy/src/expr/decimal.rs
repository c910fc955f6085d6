//! Exact decimal numbers for money: 128 bits with 18 digits after the point.

use std::{cmp::Ordering, fmt, str::FromStr};

const DIGITS: usize = 18;
const ONE: i128 = 10_i128.pow(18);

/// A decimal number with at most 18 digits after the point, between about ±1.7·10^20.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Decimal(i128);

/// A text that is not a decimal number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected digits with at most {DIGITS} after a point, such as `1250.00`")]
pub struct DecimalError;

impl Decimal {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// The sum, or nothing past the range.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The difference, or nothing past the range.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// The product with a whole number, or nothing past the range.
    pub fn checked_mul(self, times: i64) -> Option<Self> {
        self.0.checked_mul(i128::from(times)).map(Self)
    }

    /// Whether the number is below zero.
    pub fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// The nearest double, for answers that carry plain numbers.
    pub fn to_f64(self) -> f64 {
        // Reading the exact text rounds once, where two casts and a division would round thrice.
        self.to_string().parse().unwrap_or(f64::NAN)
    }
}

impl From<i64> for Decimal {
    fn from(whole: i64) -> Self {
        // 2^63 times 10^18 is below 2^127.
        Self(i128::from(whole) * ONE)
    }
}

impl FromStr for Decimal {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = match unsigned.split_once('.') {
            Some((_, "")) => return Err(DecimalError),
            Some(parts) => parts,
            None => (unsigned, ""),
        };
        let all_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || fraction.len() > DIGITS || !all_digits {
            return Err(DecimalError);
        }
        let padded = format!("{whole}{fraction:0<DIGITS$}");
        let value: i128 = padded.parse().map_err(|_| DecimalError)?;
        Ok(Self(if unsigned.len() < text.len() { -value } else { value }))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0.cmp(&0) == Ordering::Less { "-" } else { "" };
        let (whole, fraction) = (
            self.0.unsigned_abs() / ONE.unsigned_abs(),
            self.0.unsigned_abs() % ONE.unsigned_abs(),
        );
        if fraction == 0 {
            return write!(f, "{sign}{whole}");
        }
        let fraction = format!("{fraction:0>DIGITS$}");
        write!(f, "{sign}{whole}.{}", fraction.trim_end_matches('0'))
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
