//! The page of state machines: each as a table and as a diagram.

use std::fmt::Write;

use deed::Standing;
use ledger::record::ProposalStatus;
use model::{AgentStatus, ApprovalStatus, ExecutionStatus, Machine, Move, State};
use records::CheckStatus;

/// The machines whose states are not an enumeration of the vocabulary.
const ORG: Machine = Machine {
    name: "org `stop`",
    about: "While the org is stopped, no call of its agents starts; each agent keeps its own state.",
    states: &["running", "stopped"],
    moves: &[
        Move::begins("running", "the org is created"),
        Move::goes("running", "stopped", "the org is stopped"),
        Move::goes("stopped", "running", "the org is started"),
    ],
};

const KEY: Machine = Machine {
    name: "API key `status`",
    about: "Rolling a key creates a new key and sets an expiry time for the old one.",
    states: &["active", "expired", "revoked"],
    moves: &[
        Move::begins("active", "the key is created"),
        Move::goes("active", "expired", "its expiry time is reached"),
        Move::goes("active", "revoked", "the key is revoked, or its agent is archived"),
    ],
};

const MEMBER: Machine = Machine {
    name: "member",
    about: "A person who joins again is a new member.",
    states: &["live", "removed"],
    moves: &[
        Move::begins("live", "an invitation is accepted"),
        Move::goes(
            "live",
            "removed",
            "an owner removes the member, or the member leaves; one owner must remain",
        ),
    ],
};

const INVITATION: Machine = Machine {
    name: "invitation `status`",
    about: "A person has at most one pending invitation in an org at a time.",
    states: &["pending", "accepted", "revoked", "expired"],
    moves: &[
        Move::begins("pending", "an admin or an owner invites a person"),
        Move::goes("pending", "accepted", "the person joins"),
        Move::goes("pending", "revoked", "the invitation is revoked"),
        Move::goes("pending", "expired", "a week passes"),
    ],
};

const CHALLENGE: Machine = Machine {
    name: "challenge of a sign-in",
    about: "A new challenge does not end an earlier one.",
    states: &["open", "used", "locked", "expired"],
    moves: &[
        Move::begins("open", "a person requests to sign in"),
        Move::goes(
            "open",
            "used",
            "its link or its code opens a session in the browser that requested it",
        ),
        Move::goes(
            "open",
            "locked",
            "five failed attempts were made in the browser that requested it",
        ),
        Move::goes("open", "expired", "ten minutes pass"),
        Move::goes("locked", "expired", "ten minutes pass"),
    ],
};

const SESSION: Machine = Machine {
    name: "session",
    about: "A session is fresh for 15 minutes after each time that its person proves their identity.",
    states: &["fresh", "open", "ended"],
    moves: &[
        Move::begins("fresh", "a challenge is used"),
        Move::goes("fresh", "open", "15 minutes pass"),
        Move::goes("open", "fresh", "a challenge that the session requested is used"),
        Move::goes("fresh", "ended", "its person ends it"),
        Move::goes(
            "open",
            "ended",
            "its person ends it, it is unused for 12 hours, or seven days pass",
        ),
    ],
};

const CONNECTOR: Machine = Machine {
    name: "connector `status`",
    about: "An archived connector is not deleted, because deeds name it.",
    states: &["enabled", "disabled", "archived"],
    moves: &[
        Move::begins("enabled", "the connector is created"),
        Move::goes("enabled", "disabled", "an admin disables it: its calls are refused"),
        Move::goes("disabled", "enabled", "an admin enables it"),
        Move::goes("enabled", "archived", "an admin archives it"),
        Move::goes("disabled", "archived", "an admin archives it"),
    ],
};

const POLICY_VERSION: Machine = Machine {
    name: "policy version",
    about: "An org has at most one version that decides and at most one shadow version, which is \
            evaluated in addition.",
    states: &["inactive", "shadow", "enforce"],
    moves: &[
        Move::begins("inactive", "the version is created"),
        Move::goes("inactive", "shadow", "it is activated as `shadow`"),
        Move::goes("inactive", "enforce", "it is activated as `enforce`"),
        Move::goes("shadow", "enforce", "it is activated as `enforce`"),
        Move::goes("shadow", "inactive", "the shadow is ended, or another version replaces it"),
        Move::goes("enforce", "inactive", "another version replaces it"),
    ],
};

const PROPOSAL: Machine = Machine {
    name: "policy proposal `status`",
    about: "Used if an org requires two people. At most one proposal of each mode is pending at \
            a time. The states `expired` and `stale` are computed when the proposal is read; no row is written \
            for them.",
    states: &[
        ProposalStatus::PendingSecondPerson.as_str(),
        ProposalStatus::Confirmed.as_str(),
        ProposalStatus::Rejected.as_str(),
        ProposalStatus::Expired.as_str(),
        ProposalStatus::Stale.as_str(),
    ],
    moves: &[
        Move::begins(
            ProposalStatus::PendingSecondPerson.as_str(),
            "a person or a key activates a version",
        ),
        Move::goes(
            ProposalStatus::PendingSecondPerson.as_str(),
            ProposalStatus::Confirmed.as_str(),
            "another person confirms it: the version becomes active",
        ),
        Move::goes(
            ProposalStatus::PendingSecondPerson.as_str(),
            ProposalStatus::Rejected.as_str(),
            "a person rejects it, or withdraws their own",
        ),
        Move::goes(
            ProposalStatus::PendingSecondPerson.as_str(),
            ProposalStatus::Expired.as_str(),
            "24 hours pass",
        ),
        Move::goes(
            ProposalStatus::PendingSecondPerson.as_str(),
            ProposalStatus::Stale.as_str(),
            "another version becomes active in its mode, or the policy or its tests change",
        ),
    ],
};

const CHAIN_CHECK: Machine = Machine {
    name: "chain check `status`",
    about: "An org has at most one unfinished check at a time.",
    states: &[
        CheckStatus::Queued.as_str(),
        CheckStatus::Running.as_str(),
        CheckStatus::Passed.as_str(),
        CheckStatus::Failed.as_str(),
    ],
    moves: &[
        Move::begins(CheckStatus::Queued.as_str(), "the check is requested"),
        Move::goes(
            CheckStatus::Queued.as_str(),
            CheckStatus::Running.as_str(),
            "an instance starts the check",
        ),
        Move::goes(
            CheckStatus::Running.as_str(),
            CheckStatus::Passed.as_str(),
            "the log matches what was sealed",
        ),
        Move::goes(CheckStatus::Running.as_str(), CheckStatus::Failed.as_str(), "it does not"),
    ],
};

const SEAL_KEY: Machine = Machine {
    name: "seal key",
    about: "The state is computed from the key's timestamps for the time in question.",
    states: &[
        Standing::Published.as_str(),
        Standing::Active.as_str(),
        Standing::Retired.as_str(),
        Standing::Revoked.as_str(),
    ],
    moves: &[
        Move::begins(Standing::Published.as_str(), "the key is registered"),
        Move::goes(
            Standing::Published.as_str(),
            Standing::Active.as_str(),
            "its activation time is reached",
        ),
        Move::goes(
            Standing::Active.as_str(),
            Standing::Retired.as_str(),
            "another key replaces it",
        ),
        Move::goes(Standing::Published.as_str(), Standing::Revoked.as_str(), "the key is revoked"),
        Move::goes(Standing::Active.as_str(), Standing::Revoked.as_str(), "the key is revoked"),
        Move::goes(Standing::Retired.as_str(), Standing::Revoked.as_str(), "the key is revoked"),
    ],
};

/// Every machine, as the page shows them.
const MACHINES: &[Machine] = &[
    State::MACHINE,
    ExecutionStatus::MACHINE,
    ApprovalStatus::MACHINE,
    AgentStatus::MACHINE,
    ORG,
    KEY,
    MEMBER,
    INVITATION,
    CHALLENGE,
    SESSION,
    CONNECTOR,
    POLICY_VERSION,
    PROPOSAL,
    CHAIN_CHECK,
    SEAL_KEY,
];

pub(super) fn states_markdown() -> String {
    let mut page = String::from(
        "# States\n\nState machines and their transitions. Generated from the code; do not edit this \
         page. A transition that is not in a table does not occur.\n",
    );
    for machine in MACHINES {
        // Writing to a string cannot fail.
        let _ = write!(page, "\n## {}\n\n{}\n\n{}", machine.name, machine.about, table(machine));
        let _ = write!(page, "\n```mermaid\n{}```\n", diagram(machine));
    }
    page
}

fn table(machine: &Machine) -> String {
    let row = |step: &Move| {
        let from = step.from.map_or_else(|| "(begins)".to_owned(), |from| format!("`{from}`"));
        format!("| {from} | `{}` | {} |\n", step.to, step.when)
    };
    "| From | To | When |\n|---|---|---|\n".to_owned()
        + &machine.moves.iter().map(row).collect::<String>()
}

fn diagram(machine: &Machine) -> String {
    let mut lines = vec!["stateDiagram-v2\n".to_owned()];
    lines.extend(machine.moves.iter().map(|step| {
        let from = step.from.unwrap_or("[*]");
        format!("    {from} --> {}\n", step.to)
    }));
    let is_end = |state: &&&str| machine.moves.iter().all(|step| step.from != Some(**state));
    lines.extend(machine.states.iter().filter(is_end).map(|end| format!("    {end} --> [*]\n")));
    lines.concat()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn every_state_of_a_machine_is_reached_and_every_move_is_between_its_states() {
        for machine in MACHINES {
            let states: BTreeSet<_> = machine.states.iter().copied().collect();
            let named =
                machine.moves.iter().flat_map(|step| step.from.into_iter().chain([step.to]));
            assert!(named.clone().all(|state| states.contains(state)), "{}", machine.name);
            let reached: BTreeSet<_> = machine.moves.iter().map(|step| step.to).collect();
            assert_eq!(reached, states, "{}", machine.name);
            let steps: BTreeSet<_> =
                machine.moves.iter().map(|step| (step.from, step.to)).collect();
            assert_eq!(steps.len(), machine.moves.len(), "{} moves twice", machine.name);
        }
    }

    /// The words that a constraint of the migrations lets into this column.
    fn constrained(table: &str, column: &str) -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
        let mut files: Vec<_> =
            fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        let text: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        let (_, made) = text.split_once(&format!("create table {table} (")).unwrap();
        let (_, words) = made.split_once(&format!("check ({column} in (")).unwrap();
        let (words, _) = words.split_once(')').unwrap();
        words.split(',').map(|word| word.trim().trim_matches('\'').to_owned()).collect()
    }

    #[test]
    fn the_schema_knows_the_same_states() {
        let words =
            |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(constrained("action", "state"), words(State::WORDS));
        assert_eq!(constrained("chain_check", "status"), words(CHAIN_CHECK.states));
        let modes: BTreeSet<_> = constrained("policy_active", "mode");
        assert!(modes.is_subset(&words(POLICY_VERSION.states)), "{modes:?}");
    }
}
