//! State machines: in which states a thing can be, and what moves it from one to another.
//!
//! Each machine stands beside the type whose words it speaks. `docs/states.md` is made from them,
//! and what keeps rows without a database refuses a move that none of them has.

/// A state machine of the service.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    /// What moves, and the field that says where it stands.
    pub name: &'static str,
    /// What a reader should know beside the moves.
    pub about: &'static str,
    /// Every state that a row can be found in.
    pub states: &'static [&'static str],
    /// Every move.
    pub moves: &'static [Move],
}

/// A move of a machine.
#[derive(Debug, Clone, Copy)]
pub struct Move {
    /// The state before; nothing where the thing begins.
    pub from: Option<&'static str>,
    /// The state after.
    pub to: &'static str,
    /// What makes it move.
    pub when: &'static str,
}

impl Move {
    /// How a thing begins.
    pub const fn begins(to: &'static str, when: &'static str) -> Self {
        Self { from: None, to, when }
    }

    /// How it goes on.
    pub const fn goes(from: &'static str, to: &'static str, when: &'static str) -> Self {
        Self { from: Some(from), to, when }
    }
}

impl Machine {
    /// Whether something that stood there, or was not there at all, may stand here next.
    pub fn may_go(&self, from: Option<&str>, to: &str) -> bool {
        from == Some(to) || self.moves.iter().any(|step| (step.from, step.to) == (from, to))
    }
}
