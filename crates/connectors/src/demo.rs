//! The demo shop: a seed script for a PostgreSQL database and the connector file that governs it.

/// SQL that makes and fills the shop's tables; running it again changes nothing.
pub const SHOP_SEED: &str = include_str!("../demo/shop.sql");

/// The connector file of the shop. `host`, `port` and `database` name a local default; whoever
/// runs the demo sets them to where the shop really is.
pub const SHOP_CONNECTOR: &str = include_str!("../demo/shop.yaml");
