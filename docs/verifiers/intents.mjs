// Judges signed intents: each is the one that its deed names, and of the call that it records.
import {
  SHAPES, digest, fits, fromUtf8, need, parse, readPoint, signs, spelled, splitDisclosure, unbase64,
  utf8,
} from "./formats.mjs";

/** Judges the intents of a file of evidence, of which no two are of one deed. */
async function checkIntents(file, deeds, report) {
  const seen = new Set();
  for (const shown of file.intents) {
    const deed = deeds.find(({ id }) => id === shown.deed);
    const named = deed?.action?.intent.jws;
    await report.check("intents", async () => {
      need(named && !seen.has(shown.deed));
      seen.add(shown.deed);
      if (named.alg !== "Ed25519") return report.open("intents");
      return checkClaims(await signedClaims(shown, named), deed, openedOf(file, deed));
    });
  }
}

/** Returns the places of the deeds that name an intent which did not come with them. */
function notShown(file, deeds) {
  const here = new Set((file?.intents ?? []).map((shown) => shown.deed));
  const hidden = deeds.filter(({ id, action }) => action?.intent.jws && !here.has(id));
  return hidden.map((deed) => deed.seq);
}

/** Returns the texts of the values that the file opens of a deed, by their places. */
function openedOf(file, deed) {
  const entry = file.disclosures.find((listed) => listed.deed === deed.id);
  return new Map((entry?.disclosures ?? []).map((text) => splitDisclosure(text).slice(1)));
}

/** Returns what the intent says if it is the one that the deed names, and its key's. */
async function signedClaims({ jws, public_key: x }, named) {
  need(jws.length <= 4096 && (await digest(utf8(jws))) === named.digest);
  const point = await readPoint(x, named.key_id);
  need(/^[\w-]+(\.[\w-]+){2}$/.test(jws));
  const [header, payload, signature] = jws.split(".").map((part) => unbase64(part, true));
  const told = parse(fromUtf8(header));
  need(fits("@intent_header", told) && told.kid === named.key_id);
  need(await signs({ point }, utf8(jws.slice(0, jws.lastIndexOf("."))), signature));
  const claims = parse(fromUtf8(payload));
  const more = Object.entries(SHAPES.more_claims).filter(([name]) => Object.hasOwn(claims, name));
  need(fits({ ...SHAPES.claims, ...Object.fromEntries(more) }, claims));
  need(utf8(claims.purpose ?? "").length <= 256);
  return claims;
}

/** Refuses claims that do not say of the call what its deed says, as far as that is shown. */
async function checkClaims(claims, { actor, action }, opened) {
  const shows = (place, text) => [undefined, text].includes(opened.get(`action.${place}`));
  const tool = spelled(claims.tool);
  const named = typeof action.tool === "string";
  need(named ? action.tool === claims.tool : shows("tool", tool));
  need(actor.type === "agent" && actor.id === claims.sub && action.mode === claims.mode);
  need(!Object.hasOwn(claims, "tdg") || claims.tdg === action.tool_digest);
  for (const [claim, place] of [["obo", "on_behalf_of"], ["ses", "session"]]) {
    need((claims[claim] === null) === (action[place] === null));
    need(shows(place, spelled(claims[claim])));
  }
  const args = opened.get("action.request");
  const call = await digest(utf8(`{"args":${args},"tool":${tool}}`));
  need(args === undefined || call === claims.req);
  const now = Date.parse(`${action.received_at.slice(0, 19)}Z`) / 1000;
  need(claims.iat <= now + 60 && now < claims.exp);
  need(claims.exp - claims.iat >= 1 && claims.exp - claims.iat <= 300);
}

export { checkIntents, notShown };
