//! How long an answer takes tells nobody who has an account.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::house::{House, Request};

/// So many ask for an address that somebody has, and as many for one that nobody has.
const ASKED: usize = 1000;

/// Five times what chance alone moves the share by: √((2n+1) / 12n²) of n of each.
const CHANCE: f64 = 0.065;

#[tokio::test]
async fn how_long_an_answer_takes_does_not_tell_whether_somebody_has_the_address() {
    let Some(house) = House::new("server: { trusted_proxies: 127.0.0.0/8 }\n").await else {
        return;
    };
    let known = "insert into person select gen_random_uuid(), 'known' || n || '@example.com', now() \
                 from generate_series(0, 199) n";
    house.control.run(known).await;
    let service = house.serve().await;
    let caller = service.anonymous();
    let ask = async |email: String, turn: usize| {
        let from = format!("10.{}.{}.7", turn / 1000, turn / 10 % 100);
        let asked = Request::post("/v1/auth/start", &json!({ "email": email }));
        let begun = Instant::now();
        let answer = caller.send(asked.header("X-Forwarded-For", &from)).await;
        let took = begun.elapsed();
        answer.is(202);
        took
    };
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    let mut dice = 0x9E37_79B9_7F4A_7C15_u64;
    for turn in 0..ASKED {
        // What is behind an answer runs beside the next: neither kind may always be that one.
        dice = dice.rotate_left(7).wrapping_mul(0xD129_42A7_5F5B_37D3) ^ 1;
        for of_somebody in [dice >> 63 == 0, dice >> 63 == 1] {
            if of_somebody {
                known.push(ask(format!("known{}@example.com", turn % 200), 2 * turn).await);
            } else {
                unknown.push(ask(format!("nobody{turn}@example.com"), 2 * turn + 1).await);
            }
        }
    }
    let share = share_of_longer(&known, &mut unknown);
    let middle = |times: &[Duration]| times[times.len() / 2];
    known.sort_unstable();
    println!(
        "of {ASKED} and {ASKED} answers those for known addresses took longer in {share:.3} of all \
         pairs; medians {:?} and {:?}",
        middle(&known),
        middle(&unknown)
    );
    assert!((share - 0.5).abs() < CHANCE, "{share:.3} of all pairs, not a half");
}

/// In which share of all pairs the first is longer: a half where nothing tells the two apart (the
/// statistic of Mann and Whitney).
fn share_of_longer(left: &[Duration], right: &mut [Duration]) -> f64 {
    right.sort_unstable();
    let longer: usize = left
        .iter()
        .map(|it| {
            right.partition_point(|that| that < it) + right.partition_point(|that| that <= it)
        })
        .sum();
    let pairs = u32::try_from(2 * left.len() * right.len()).unwrap();
    f64::from(u32::try_from(longer).unwrap()) / f64::from(pairs)
}

#[test]
fn the_share_of_longer_times_is_a_half_of_alike_and_one_of_slower() {
    let times = |from: u64| (from..from + 100).map(Duration::from_micros).collect::<Vec<_>>();
    assert!((share_of_longer(&times(0), &mut times(0)) - 0.5).abs() < 1e-9);
    assert!((share_of_longer(&times(100), &mut times(0)) - 1.0).abs() < 1e-9);
    assert!(share_of_longer(&times(10), &mut times(0)) > 0.5 + CHANCE);
}
