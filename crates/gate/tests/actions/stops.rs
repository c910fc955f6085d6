//! Nothing that is sent behind the answer of a Stop or of a revocation begins, on whichever instance.

use futures_util::future::join_all;
use gate::{Gate, Submission, Submitted};
use ledger::record::{ApiKey, PolicyMode};
use model::KeyId;
use serde_json::json;

use crate::house::House;

const STARTERS: usize = 64;
const ROUNDS: usize = 500;
/// After so many rounds the next is played in a house of its own, since what is kept in memory would
/// make each longer than the last.
const OF_A_HOUSE: usize = 10;

/// What ends the starters' calls.
#[derive(Clone, Copy)]
enum End {
    StopOfTheAgent,
    StopOfTheOrg,
    Revocation,
}

impl End {
    async fn take_place(self, house: &House, key: &ApiKey) {
        match self {
            Self::StopOfTheAgent => house.stop_agent().await,
            Self::StopOfTheOrg => house.stop_org().await,
            Self::Revocation => {
                house.write(ApiKey { revoked_at: Some(house.now()), ..key.clone() }).await;
            }
        }
    }
}

async fn pause(turns: usize) {
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}

fn call(house: &House, key: KeyId) -> Submission {
    Submission { key, ..house.call("shop.refund", json!({ "amount": 1 })) }
}

/// Whether the call began.
async fn begins(house: &House, gate: &Gate, call: Submission) -> bool {
    match gate.submit(call).await {
        Ok(Submitted::Running(running)) => {
            running.done.await.unwrap();
            // The tool has only so many runs, and each gives its own back.
            house.refund.release();
            true
        }
        Ok(_) | Err(_) => false,
    }
}

/// How many calls began that were sent before the answer.
async fn round(house: &House, others: &[Gate; 2], number: usize, end: End) -> usize {
    let key = house.further_key().await;
    let gates = [&house.gate, &others[0], &others[1]];
    let starters = (0..STARTERS).map(async |starter| {
        // They come in around the moment at which the end is asked for, in another order each time.
        pause((starter * 7 + number) % STARTERS).await;
        begins(house, gates[starter % gates.len()], call(house, key.id)).await
    });
    let ended = async {
        pause(number * 5 % STARTERS).await;
        end.take_place(house, &key).await;
        for gate in gates {
            assert!(!begins(house, gate, call(house, key.id)).await, "round {number}: it began");
        }
    };
    let (began, ()) = tokio::join!(join_all(starters), ended);
    house.start().await;
    began.into_iter().filter(|began| *began).count()
}

async fn rounds(end: End) {
    let (mut before, mut empty) = (0, 0);
    for part in 0..ROUNDS / OF_A_HOUSE {
        let house = House::new().await;
        let allows = "{ schema: 1, default: { outcome: allow } }";
        house.activate(2, allows, PolicyMode::Enforce).await;
        let others = [house.gate_beside(1), house.gate_beside(2)];
        for number in 0..OF_A_HOUSE {
            let number = part * OF_A_HOUSE + number;
            let began = Box::pin(round(&house, &others, number, end)).await;
            before += began;
            empty += usize::from(began == 0);
        }
    }
    println!("{before} calls began before the answers, none in {empty} rounds");
    assert!(before > ROUNDS && empty < ROUNDS / 2, "the ends come too early to tell anything");
}

#[tokio::test]
async fn none_of_64_starters_begins_behind_the_stop_of_their_agent() {
    rounds(End::StopOfTheAgent).await;
}

#[tokio::test]
async fn none_of_64_starters_begins_behind_the_stop_of_their_org() {
    rounds(End::StopOfTheOrg).await;
}

#[tokio::test]
async fn none_of_64_starters_begins_behind_the_revocation_of_their_key() {
    rounds(End::Revocation).await;
}
