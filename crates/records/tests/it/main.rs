//! The reading of logs over a store that fails as it is told.

#[cfg(test)]
mod walks;
