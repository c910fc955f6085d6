//! Verdicts on reports, read-backs and change logs.

mod at_l0;
mod cases;
mod histories;
mod resources;
mod world;
