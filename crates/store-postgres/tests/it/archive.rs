//! What an operator does to an old record, and that nothing can be proved any less afterwards.

mod thinning;
