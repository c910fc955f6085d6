//! `check`: everything that the service needs to serve. Settings, record, seal keys and
//! checkpoints have been looked at when this begins; here the governed systems are asked.

use connectors::{Blueprint, CheckLine, CheckState};
use ledger::record::Connector;

use super::orgs;
use crate::{
    exit::{Exit, Failure},
    print,
    wire_up::{Wired, chain},
};

pub(super) async fn run(wired: &Wired) -> Result<Exit, Failure> {
    print::line("ok    settings, record, seal keys and checkpoints");
    let mut worst = CheckState::Pass;
    for org in orgs(&wired.core).await? {
        let connectors = wired.core.stores.accounts.connectors(org.id).await;
        for connector in connectors.map_err(|error| Failure::internal(chain(&error)))? {
            print::line(format!("\n{} {}, of org {}", connector.name, connector.id, org.id));
            for line in lines(wired, connector).await {
                worst = worse(worst, line.state);
                print::line(printed(&line));
            }
        }
    }
    Ok(match worst {
        CheckState::Pass | CheckState::Advice => Exit::Ok,
        CheckState::Fail => Exit::FoundBad,
    })
}

/// Returns what the connector's adapter finds in the governed system.
async fn lines(wired: &Wired, connector: Connector) -> Vec<CheckLine> {
    let failed = |name: &str, detail: String| {
        vec![CheckLine { name: name.to_owned(), state: CheckState::Fail, detail }]
    };
    let fields = match admin::open_credential(&wired.deps.vault, &connector) {
        Ok(fields) => fields,
        Err(error) => return failed("credential", error.to_string()),
    };
    let blueprint = Blueprint {
        org: connector.org,
        id: connector.id,
        name: connector.name,
        kind: connector.kind,
        revision: connector.revision.into(),
        config: connector.config,
        credential: connectors::Credential::new(fields),
    };
    match connectors::check(&blueprint, &wired.deps).await {
        Ok(lines) => lines,
        Err(error) => failed("connector", error.to_string()),
    }
}

fn worse(left: CheckState, right: CheckState) -> CheckState {
    match (left, right) {
        (CheckState::Fail, _) | (_, CheckState::Fail) => CheckState::Fail,
        (CheckState::Advice, _) | (_, CheckState::Advice) => CheckState::Advice,
        (CheckState::Pass, CheckState::Pass) => CheckState::Pass,
    }
}

fn printed(line: &CheckLine) -> String {
    let state = match line.state {
        CheckState::Pass => "ok  ",
        CheckState::Advice => "note",
        CheckState::Fail => "FAIL",
    };
    format!("{state}  {}  {}", line.name, line.detail).trim_end().to_owned()
}
