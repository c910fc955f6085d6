//! Seals a statement of one's own into a log and checks it as anybody would. Run it with
//! `cargo run -p chancery --example seal`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use chancery::deed::{
    Actor, AdminContent, AgentId, ChainHead, DeedId, Draft, KeySet, LogId, LogOrigin, Mint, OrgId,
    Path, SealKeys, Sealer, Subject, SystemEntropy, Timestamp, Word, commit, serde_json::json,
    verify,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let at: Timestamp = "2026-11-22T09:00:00.000Z".parse()?;
    let entropy = SystemEntropy::new();
    let mint = Mint::new(at, &entropy);
    // A seed for deeds and one for checkpoints; keep both as you keep any private key.
    let sealer = Sealer::alone(SealKeys::from_seeds(&[1; 32], &[2; 32])?, at)?;
    let mut log = ChainHead::genesis(LogOrigin::new("shop.example", mint.id(LogId::from_uuid))?);

    let (reason, opened) = commit(&mint, Path::REASON, &json!("its key was left in a log file"));
    let change =
        AdminContent { reason: Some(reason), ..AdminContent::new("agent.stopped".parse()?) };
    let (actor, agent) =
        (Actor::System(Word::of("shop")), Subject::agent(mint.id(AgentId::from_uuid)));
    let draft = Draft::admin(mint.id(DeedId::from_uuid), actor, agent, change);
    let deed = sealer.seal(&mut log, draft, mint.id(OrgId::from_uuid), at)?;

    // Whoever checks it has the deed as it is handed out, and the published keys.
    let (shown, keys) = (deed.form(&[opened])?.to_string(), sealer.registered().to_json());
    let verified = verify(shown.as_bytes(), &KeySet::parse(keys.as_bytes())?.into())?;
    println!("{} is {}", deed.id, verified.report());
    Ok(())
}
