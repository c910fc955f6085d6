//! The names that expressions can read, and the nearest one to a name that is not there.

/// Something known of a call besides its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Fact {
    AgentId,
    AgentName,
    AgentLabels,
    CallTool,
    CallConnector,
    CallMode,
    CallTransport,
    CallSession,
    CallOnBehalfOf,
    CallLivemode,
    CallSideEffect,
    CallIntent,
    CallToolChanged,
    Now,
}

impl Fact {
    /// The facts, by the name that expressions use.
    pub(crate) const NAMES: [(&'static str, Self); 14] = [
        ("agent.id", Self::AgentId),
        ("agent.name", Self::AgentName),
        ("agent.labels", Self::AgentLabels),
        ("call.tool", Self::CallTool),
        ("call.connector", Self::CallConnector),
        ("call.mode", Self::CallMode),
        ("call.transport", Self::CallTransport),
        ("call.session", Self::CallSession),
        ("call.on_behalf_of", Self::CallOnBehalfOf),
        ("call.livemode", Self::CallLivemode),
        ("call.side_effect", Self::CallSideEffect),
        ("call.intent", Self::CallIntent),
        ("call.tool_changed", Self::CallToolChanged),
        ("now", Self::Now),
    ];

    /// The name that expressions use.
    #[cfg(feature = "prover")]
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, fact)| *fact == self).map_or("", |(name, _)| name)
    }

    /// The fact of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, fact)| *fact)
    }
}

/// Returns ` (did you mean `…`?)` for the known word nearest to `word`, or nothing.
pub(crate) fn hint<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    nearest(word, known).map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
}

/// The known word that differs from `word` in at most a third of its letters.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if word.len() > 64 {
        return None;
    }
    let reach = (word.chars().count() / 3).clamp(1, 3);
    let known =
        known.into_iter().filter(|candidate| candidate.len().abs_diff(word.len()) <= 2 * reach);
    let measured = known.map(|candidate| (distance(word, candidate), candidate));
    measured.filter(|(distance, _)| *distance <= reach).min().map(|(_, candidate)| candidate)
}

/// How many letters must be put in, taken out, changed or swapped with the next one.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    let mut last = None;
    for (line, letter) in left.chars().enumerate() {
        let mut next = vec![line + 1];
        for (column, other) in right.iter().enumerate() {
            let at =
                |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
            let mut best = (at(&row, column) + usize::from(letter != *other))
                .min(at(&row, column + 1) + 1)
                .min(at(&next, column) + 1);
            let previous = column.checked_sub(1);
            if previous.is_some_and(|previous| right.get(previous) == Some(&letter))
                && last == Some(*other)
            {
                best = best.min(at(&before, column - 1) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
        last = Some(letter);
    }
    row.last().copied().unwrap_or_default()
}
