//! Bytes, read from the front and never past their end.

use crate::{DecodeError, Lsn};

/// What is left of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (head, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or(DecodeError::Short { wanted: count, left: self.rest.len() })?;
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let left = self.rest.len();
        let (head, rest) =
            self.rest.split_first_chunk::<N>().ok_or(DecodeError::Short { wanted: N, left })?;
        self.rest = rest;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, DecodeError> {
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, DecodeError> {
        self.array().map(i64::from_be_bytes)
    }

    pub(crate) fn lsn(&mut self) -> Result<Lsn, DecodeError> {
        self.array().map(|bytes| Lsn(u64::from_be_bytes(bytes)))
    }

    /// A number of columns: never negative.
    pub(crate) fn short_count(&mut self) -> Result<usize, DecodeError> {
        let count = self.array().map(i16::from_be_bytes)?;
        usize::try_from(count).map_err(|_| DecodeError::Negative { count: count.into() })
    }

    /// A length or a number of relations: never negative.
    pub(crate) fn count(&mut self) -> Result<usize, DecodeError> {
        let count = self.i32()?;
        usize::try_from(count).map_err(|_| DecodeError::Negative { count })
    }

    /// A name: UTF-8, ended by a zero byte.
    pub(crate) fn name(&mut self) -> Result<&'a str, DecodeError> {
        let end = self
            .rest
            .iter()
            .position(|byte| *byte == 0)
            .ok_or(DecodeError::Short { wanted: 1, left: 0 })?;
        let name = self.bytes(end)?;
        self.u8()?;
        std::str::from_utf8(name).map_err(|_| DecodeError::NotUtf8)
    }

    /// Nothing may follow.
    pub(crate) fn end(self) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(DecodeError::Trailing { left }),
        }
    }

    /// As much room as `count` items can need at most: each takes at least `least` bytes of what
    /// is left, so a count that lies takes no memory.
    pub(crate) fn room(&self, count: usize, least: usize) -> usize {
        count.min(self.rest.len() / least.max(1))
    }
}
