//! Names that an instance does not know: whether nobody serves one is settled by the turn.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use gate::{Found, Seen, Served, Submitted, Toolbox};
use ledger::StoreDown;
use model::{DecisionCode, OrgId, ToolName};
use serde_json::json;
use testkit::Shop;

use crate::house::House;

/// A toolbox that read the org's connectors before the shop was one of them.
struct Late {
    seen: Seen,
    now: Option<Arc<Shop>>,
    readings: AtomicUsize,
}

impl Late {
    fn new(seen: Seen, now: Option<Arc<Shop>>) -> Arc<Self> {
        Arc::new(Self { seen, now, readings: AtomicUsize::new(0) })
    }

    fn readings(&self) -> usize {
        self.readings.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Toolbox for Late {
    async fn find(&self, _: OrgId, _: &ToolName) -> Result<Found, StoreDown> {
        Ok(Found::NotAmong(self.seen))
    }

    async fn find_anew(&self, org: OrgId, name: &ToolName) -> Result<Found, StoreDown> {
        self.readings.fetch_add(1, Ordering::SeqCst);
        match &self.now {
            Some(shop) => shop.find(org, name).await,
            None => Ok(Found::NotAmong(self.seen)),
        }
    }

    async fn every(&self, _: OrgId) -> Result<Vec<Served>, StoreDown> {
        Ok(Vec::new())
    }
}

/// What is decided of this tool by an instance with this toolbox.
async fn code(house: &House, toolbox: &Arc<Late>, tool: &str) -> Option<DecisionCode> {
    let gate = house.gate_over(Arc::clone(toolbox) as Arc<dyn Toolbox>);
    match gate.submit(house.call(tool, json!({ "amount": 5 }))).await.unwrap() {
        Submitted::Replayed(action) | Submitted::Decided(action) => action.decision.code,
        Submitted::Running(running) => running.done.await.unwrap().action.decision.code,
    }
}

const UNKNOWN: Option<DecisionCode> = Some(DecisionCode::ToolUnknown);

#[tokio::test]
async fn what_was_connected_a_moment_ago_is_not_unknown() {
    let house = House::new().await;
    let shop = Shop::of([Arc::clone(&house.refund)]);
    shop.connect(house.connector().0);
    let toolbox = Late::new(None, Some(shop));
    assert_eq!(code(&house, &toolbox, "shop.refund").await, None);
    assert_eq!((house.refund.runs(), toolbox.readings()), (1, 1));
}

#[tokio::test]
async fn names_that_nobody_serves_lead_to_no_reading() {
    let house = House::new().await;
    let toolbox = Late::new(Some(house.connector()), None);
    for name in ["nowhere.tool", "shop.nothing", "no name"] {
        assert_eq!(code(&house, &toolbox, name).await, UNKNOWN);
    }
    assert_eq!(toolbox.readings(), 0);
}

#[tokio::test]
async fn a_turn_that_knows_less_than_a_later_reading_is_held_up_once() {
    let house = House::new().await;
    // The shop was archived by another instance, which the turn has not heard of.
    let toolbox = Late::new(None, None);
    assert_eq!(code(&house, &toolbox, "shop.refund").await, UNKNOWN);
    assert_eq!(toolbox.readings(), 1);
}
