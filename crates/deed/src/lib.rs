//! deed
