//! Tests of the connector: pure parts in `parts`, and everything else against a real server, whose
//! superuser URL is in `CHANCERY_TEST_POSTGRES`.

mod changes;
mod coverage;
mod declared;
mod estimates;
mod faults;
mod kinds;
mod liars;
mod names;
mod parts;
mod pins;
mod proxy;
mod reads;
mod scram;
mod settling;
mod setup;
mod stale;
mod tls;
mod world;
mod writes;
