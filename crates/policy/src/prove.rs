//! Answers questions about all calls at once: whether a rule can ever decide, whether a condition
//! can ever be false, what two versions decide differently.
//!
//! A question is a list of [`Goal`]s. They are split into cubes, each a conjunction of limits on
//! single terms (fields, facts and what is worked out from them). A cube holds at least every call
//! that meets the goals on its way, so **no** only comes when every cube is empty. **Yes** only
//! comes with a call that the evaluator itself confirms. Everything else is *not proven*. What a
//! decision costs is left aside: a call that runs out of fuel counts as one that fails.

mod ask;
mod compare;
mod cube;
mod domain;
mod goal;
mod reading;
mod split;
mod term;
mod texts;
mod values;
mod walk;
mod witness;

#[cfg(test)]
mod tests;

pub(crate) use ask::{Answer, Judgement, Prover};
pub(crate) use goal::{Goal, Want};
pub(crate) use term::essence;
pub(crate) use walk::{First, first};
pub(crate) use witness::{any_call, plain_call};
