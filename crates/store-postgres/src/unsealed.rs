//! The states of the actions that are not sealed.

/// Every state but `sealed`, as the rows of a table `stage (name)`: the index of what is not sealed
/// begins with the state, so that a statement looks up each of them by itself.
macro_rules! unsealed_states {
    () => {
        "unnest(array['cancelled', 'executing', 'pending_approval', 'witnessing']) as stage (name)"
    };
}

pub(crate) use unsealed_states;

#[cfg(test)]
mod tests {
    use model::State;

    #[test]
    fn every_state_but_sealed_is_listed() {
        let unsealed = State::ALL.iter().filter(|state| **state != State::Sealed);
        let mut names: Vec<_> = unsealed.map(|state| format!("'{}'", state.as_str())).collect();
        names.sort();
        let listed = format!("unnest(array[{}]) as stage (name)", names.join(", "));
        assert_eq!(unsealed_states!(), listed);
    }
}
