//! What is bound of a large value.

use bytes::BytesMut;
use deed::Disclosure;
use tokio_postgres::types::{ToSql, Type};

use super::Opening;

const LARGE: usize = 200 * 1024;

#[test]
fn a_large_disclosure_goes_to_the_driver_without_a_copy_of_its_own() {
    let text = format!("[\"{}\",\"action.request\",\"{}\"]", "A".repeat(43), "x".repeat(LARGE));
    let opens = Disclosure::from_text(text.clone()).unwrap();
    let mut out = BytesMut::with_capacity(2 * LARGE);
    let counted = allocation_counter::measure(|| {
        Opening(&opens).to_sql(&Type::TEXT, &mut out).unwrap();
    });
    assert_eq!(counted.bytes_total, 0);
    assert_eq!(out, text.as_bytes());
}
