//! What is said of outages, and that it is said once.

use model::{ConnectorName, Entropy, ExecutionErrorCode, Mint, OrgId, Timestamp};
use tokio::time::advance;

use super::*;
use crate::telemetry::said;

#[tokio::test(start_paused = true)]
async fn an_outage_is_told_when_it_begins_and_when_it_ends() {
    let mut since = None;
    assert_eq!(turned(&mut since, false), None);
    assert_eq!(turned(&mut since, true), Some(Change::Gone));
    advance(Duration::from_secs(7)).await;
    assert_eq!(turned(&mut since, true), None);
    let after = Duration::from_secs(7);
    assert_eq!(turned(&mut since, false), Some(Change::Back { after }));
    assert_eq!(turned(&mut since, false), None);
    assert_eq!(turned(&mut since, true), Some(Change::Gone));
}

fn connector(name: &str) -> InUse {
    let entropy: &dyn Entropy = &crypto::SystemEntropy::new();
    let mint = Mint::new(Timestamp::EPOCH, entropy);
    InUse {
        org: mint.id(OrgId::from_uuid),
        id: mint.id(ConnectorId::from_uuid),
        name: name.parse::<ConnectorName>().unwrap(),
        revision: 1,
        standing: Standing::Reached,
    }
}

fn lost(connector: &InUse, code: ExecutionErrorCode, message: &str) -> InUse {
    InUse { standing: Standing::Lost(Fault::new(code, message)), ..connector.clone() }
}

#[test]
fn a_connector_is_named_with_the_reason_once_for_each_reason() {
    use ExecutionErrorCode::{ConnectorAuthFailed, ConnectorUnreachable};
    let (shop, depot) = (connector("shop"), connector("depot"));
    let mut known = HashMap::new();
    let mut look = |in_use: &[&InUse]| {
        let in_use = in_use.iter().map(|it| (*it).clone()).collect();
        said(|| tell(&mut known, in_use))
    };
    assert_eq!(look(&[&shop, &depot]), Vec::<String>::new());
    // Several that are lost at the same time are all told of.
    let away = lost(&shop, ConnectorUnreachable, "no answer on port 5432");
    let refused = lost(&depot, ConnectorAuthFailed, "28P01");
    let lines = look(&[&away, &refused]);
    assert_eq!(lines.len(), 2, "{lines:?}");
    let told = [
        ("shop", &shop.id, "connector_unreachable", "no answer on port 5432"),
        ("depot", &depot.id, "connector_auth_failed", "28P01"),
    ];
    for (line, (name, id, reason, cause)) in lines.iter().zip(told) {
        assert!(line.contains("WARN") && line.contains("a connector is unreachable"), "{line}");
        for word in [name, &id.to_string(), reason, cause] {
            assert!(line.contains(word), "{word} is not in {line}");
        }
    }
    assert_eq!(look(&[&away, &refused]), Vec::<String>::new());
    let other = lost(&shop, ConnectorAuthFailed, "28P01");
    assert_eq!(look(&[&other, &refused]).len(), 1);
    let untried = InUse { standing: Standing::Untried, ..shop.clone() };
    assert_eq!(look(&[&untried]), Vec::<String>::new(), "it was changed, and nobody called it yet");
    let lines = look(&[&shop]);
    assert_eq!(lines.len(), 1, "what nobody calls is forgotten: {lines:?}");
    assert!(lines[0].contains("INFO") && lines[0].contains("is reachable again"), "{lines:?}");
    assert_eq!(look(&[&shop, &depot]), Vec::<String>::new());
}

#[test]
fn how_many_orgs_cannot_be_reached_is_told_whenever_that_changes() {
    let mut seen = OrgsSeen::default();
    let mut look = |sight| said(|| tell_of_orgs(&mut seen, sight, "57014"));
    let reached =
        |unreached| Sight::Seen(Survey { is_ahead: false, unreached, is_reached: unreached < 9 });
    assert_eq!(look(Sight::Unknown), Vec::<String>::new());
    assert_eq!(look(reached(0)), Vec::<String>::new());
    for orgs in [4, 9] {
        let lines = look(reached(orgs));
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(line.contains("ERROR") && line.contains(&format!("orgs={orgs}")), "{line}");
        assert_eq!(look(reached(orgs)), Vec::<String>::new());
    }
    let lines = look(reached(0));
    assert!(lines.len() == 1 && lines[0].contains("INFO"), "{lines:?}");
    let lines = look(Sight::Failed);
    assert!(lines.len() == 1 && lines[0].contains("57014"), "{lines:?}");
    assert_eq!(look(Sight::Failed), Vec::<String>::new());
    assert_eq!(look(reached(0)).len(), 1);
}
