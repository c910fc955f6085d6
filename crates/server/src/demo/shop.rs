//! A shop in memory with three tools, of which one lies, and the toolbox that holds them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use admin::{Candidate, ConnectorCheck, KnownTools, UnfitError};
use async_trait::async_trait;
use gate::{Found, Served, Toolbox};
use ledger::{StoreDown, record::ConnectorRef};
use model::{
    ActionId, ConnectorId, Datum, ExecutionErrorCode, Fault, Footprint, Level, LogTrace, Measured,
    OrgId, Outcome, ReadBack, ReadRow, Report, ReportedRows, RowOp, SideEffect, TableName, Teller,
    TextForm, Told, ToolName, ToolNameError,
};
use serde_json::{Map, Value, json};
use tool::{Claim, Definition, Reading, Run, Settled, Tool};

use super::KIND;

/// The connector's name.
pub(super) const CONNECTOR: &str = "shop";

/// Orders by number, and what became of each.
type Orders = Arc<Mutex<BTreeMap<i64, &'static str>>>;

/// The shop.
#[derive(Debug)]
pub(super) struct Shop {
    orders: Orders,
    tools: Vec<Arc<dyn Tool>>,
    connector: OnceLock<ConnectorId>,
}

impl Shop {
    /// A shop with one paid order.
    pub(super) fn open() -> Result<Self, ToolNameError> {
        let orders: Orders = Arc::new(Mutex::new([(1001, "paid")].into()));
        let tools = [What::Refund, What::Delete, What::Close].map(|what| {
            let definition = what.definition()?;
            Ok(Arc::new(Till { what, definition, orders: Arc::clone(&orders) }) as Arc<dyn Tool>)
        });
        let tools = tools.into_iter().collect::<Result<_, _>>()?;
        Ok(Self { orders, tools, connector: OnceLock::new() })
    }

    /// Names the connector that governs the shop.
    pub(super) fn connect(&self, connector: ConnectorId) {
        // A second connector would serve the same shop; the first one stays.
        let _ = self.connector.set(connector);
    }

    /// What became of an order.
    pub(super) fn status_of(&self, order: i64) -> &'static str {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.get(&order).copied().unwrap_or("unknown")
    }

    fn served(&self, tool: &Arc<dyn Tool>) -> Served {
        let connector = ConnectorRef {
            id: self.connector.get().copied(),
            name: CONNECTOR.to_owned(),
            kind: KIND.to_owned(),
        };
        Served { connector, test: false, hidden: false, changed: None, tool: Arc::clone(tool) }
    }
}

#[async_trait]
impl Toolbox for Shop {
    async fn find(&self, _: OrgId, name: &ToolName) -> Result<Found, StoreDown> {
        let tool = self.tools.iter().find(|tool| tool.definition().name == *name);
        Ok(tool.map_or(Found::Nobody, |tool| Found::Served(self.served(tool))))
    }

    async fn every(&self, _: OrgId) -> Result<Vec<Served>, StoreDown> {
        Ok(self.tools.iter().map(|tool| self.served(tool)).collect())
    }
}

#[async_trait]
impl ConnectorCheck for Shop {
    async fn check(&self, candidate: Candidate<'_>) -> Result<KnownTools, UnfitError> {
        match candidate.kind {
            KIND => Ok(KnownTools::new()),
            other => Err(UnfitError::UnknownKind(other.to_owned())),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum What {
    Refund,
    Delete,
    /// Says that it closed the order and leaves it as it is.
    Close,
}

impl What {
    fn definition(self) -> Result<Definition, ToolNameError> {
        let (name, title, side_effect, properties, op) = match self {
            Self::Refund => (
                "shop.refund",
                "Refund an order",
                SideEffect::Write,
                json!({ "order": { "type": "integer" }, "amount": { "type": "number" } }),
                RowOp::Update,
            ),
            Self::Delete => (
                "shop.delete",
                "Delete an order",
                SideEffect::Destructive,
                json!({ "order": { "type": "integer" } }),
                RowOp::Delete,
            ),
            Self::Close => (
                "shop.close",
                "Close an order",
                SideEffect::Write,
                json!({ "order": { "type": "integer" } }),
                RowOp::Update,
            ),
        };
        let required: Vec<_> = properties.as_object().into_iter().flat_map(Map::keys).collect();
        let input_schema =
            json!({ "type": "object", "properties": properties, "required": required });
        let tables = [("orders".to_owned(), vec![op])].into();
        Ok(Definition {
            name: name.parse()?,
            title: title.to_owned(),
            description: format!("{title} of the demo's shop."),
            side_effect,
            target: None,
            digest: crypto::sha256(crypto::json::canonical(&json!([name, input_schema]))),
            input_schema: input_schema.into(),
            footprint: Some(Footprint { tables, max_rows: 1, ..Footprint::default() }),
            required_level: match self {
                Self::Refund | Self::Delete => Level::L0,
                Self::Close => Level::L1,
            },
        })
    }
}

/// One tool of the shop.
#[derive(Debug)]
struct Till {
    what: What,
    definition: Definition,
    orders: Orders,
}

#[async_trait]
impl Tool for Till {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn check_args(&self, args: &Value) -> Result<(), String> {
        let whole = args.get("order").is_some_and(Value::is_i64);
        let amount = match self.what {
            What::Refund => args.get("amount").is_some_and(Value::is_number),
            What::Delete | What::Close => true,
        };
        match (whole, amount) {
            (true, true) => Ok(()),
            (false, _) => Err("`/order`: expected a whole number".to_owned()),
            (true, false) => Err("`/amount`: expected a number".to_owned()),
        }
    }

    async fn run(&self, run: Run<'_>) -> Outcome {
        let order = run.args.get("order").and_then(Value::as_i64).unwrap_or_default();
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = match self.what {
            What::Refund => orders.get_mut(&order).map(|status| *status = "refunded").is_some(),
            What::Delete => orders.remove(&order).is_some(),
            What::Close => return closed(order),
        };
        if changed {
            let report = Report::of_rows(Some(1));
            return Outcome::Succeeded { result: json!({ "rows_changed": 1 }), report };
        }
        let message = format!("there is no order {order}");
        Outcome::Failed(Fault::new(ExecutionErrorCode::ToolError, message))
    }

    /// What stands in the shop's own books.
    async fn read_back(&self, claim: Claim<'_>, _: Duration) -> Reading {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let reported = claim.report.measured.iter().flat_map(|measured| &measured.rows);
        let rows = reported.flat_map(|rows| &rows.rows).map(|row| {
            let number = row.get("id")?.text.as_ref()?.parse().ok()?;
            let text = |text: &str| Datum::Text(text.to_owned());
            let image =
                [("id", text(&format!("{number}"))), ("status", text(orders.get(&number)?))];
            let image = image.map(|(column, value)| (column.to_owned(), value)).into();
            Some(ReadRow { xmin: 0, image })
        });
        Reading::Done(ReadBack::Rows(rows.collect()))
    }

    async fn settle(&self, _: OrgId, _: ActionId, _: Option<&str>) -> Settled {
        // The shop dies with the process, so there is never a run left whose end nobody saw.
        Settled::NotApplied
    }
}

/// The answer of a tool that did nothing, and what the till counted meanwhile: no change.
fn closed(order: i64) -> Outcome {
    let table = TableName::new("shop", "orders");
    let told = |text: String| Told { text: Some(text), form: TextForm::Exact };
    let row = [("id", told(order.to_string())), ("status", told("closed".to_owned()))];
    let measured = Measured {
        trace: LogTrace { system: "demo".to_owned(), xid: "1".to_owned(), until: None },
        touched: BTreeMap::new(),
        names: [("orders".to_owned(), table.clone())].into(),
        scope: Vec::new(),
        rows: Some(ReportedRows {
            table,
            op: Some(RowOp::Update),
            key: vec!["id".to_owned()],
            teller: Teller::Function,
            rows: vec![row.map(|(column, told)| (column.to_owned(), told)).into()],
        }),
    };
    let report = Report { rows_changed: Some(1), measured: Some(Box::new(measured)) };
    Outcome::Succeeded { result: json!({ "id": order, "status": "closed" }), report }
}
