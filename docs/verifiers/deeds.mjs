// The checks of one deed by itself: its bytes, its claims, its signature, its disclosures.
import { DEED, canonical, digest, fits, fromUtf8, need, pae, parse, unbase64, utf8, verifies, written } from "./formats.mjs";
import { brokenBy } from "./honesty.mjs";

export const CHECKS = (
  "input type canonical shape honesty key_id form digest key window revoked signature " +
  "disclosures log sequence prev time unique amends checkpoint root manifest inclusion size"
).split(" ");
export const [OPEN, FAILED] = [1, 2];

/** What did not pass, by check: whether it is open or failed, and why; and the deeds as read. */
export class Checks {
  found = new Map();
  grade = 0;
  deeds = [];

  note(check, status, why) {
    if (status > (this.found.get(check)?.status ?? 0)) this.found.set(check, { status, why });
    return undefined;
  }

  ensure(check, holds, why) {
    if (!holds) this.note(check, FAILED, why);
    return holds;
  }

  /** Returns what the work does; whatever goes wrong in it fails the check. */
  async attempt(check, work) {
    try {
      return await work();
    } catch (error) {
      return this.note(check, FAILED, error.message);
    }
  }

  shown(grade) {
    this.grade = Math.max(this.grade, grade);
  }
}

export function frame({ payload, payloadType, signatures }) {
  need(signatures.length === 1, "expected one signature");
  const [{ keyid, sig }] = signatures;
  return { type: payloadType, payload: unbase64(payload), kid: keyid, signature: unbase64(sig), open: [] };
}

/** Returns the body, or nothing when it cannot be read. */
async function readBody(payload, checks) {
  const read = await checks.attempt("canonical", () => {
    need(payload.length <= 16384, "longer than 16 KiB");
    const text = fromUtf8(payload);
    const value = parse(text);
    need(canonical(value) === text, "not in its RFC 8785 form");
    return { value };
  });
  if (!read) return undefined;
  const body = read.value ?? {};
  const known = { format: ["service.deed.v1"], kind: ["action", "admin", "amendment"] };
  for (const name of ["format", "kind"]) {
    if (typeof body[name] !== "string" || known[name].includes(body[name])) continue;
    return checks.note("shape", OPEN, `\`${name}\` is not known to this version`);
  }
  const { [body.kind]: content, ...every } = body;
  let fit = fits("@every", every) && fits(`@${body.kind}`, content);
  if (fit && body.kind === "action") {
    const { status, execution, witness } = content;
    const ran = status === "executed" || status === "failed";
    fit = ran === (execution !== null) && ran === (witness !== null);
    fit &&= !ran || (execution.status === "failed") === (status === "failed");
  }
  return checks.ensure("shape", fit, "a member is missing, unknown or malformed") ? body : undefined;
}

/** Returns the deed's body with its digest, or nothing when it cannot be read. */
export async function checkDeed(item, keys, take, checks) {
  checks.ensure("type", item.type === DEED, "not the payload type of a deed");
  const body = await readBody(item.payload, checks);
  if (!body) return undefined;
  const rules = brokenBy(body);
  checks.ensure("honesty", rules.length === 0, rules.join(", "));
  checks.ensure("key_id", item.kid === body.key_id, "the frame names another key");
  const own = await digest(item.payload);
  if (item.form) {
    const { id, kind, body: shown, log } = item.form;
    checks.ensure("digest", item.form.digest === own, "`digest` is not the payload's");
    const told = [body.id, body.kind, body, { origin: body.log, index: body.seq }];
    const same = written([id, kind, shown, log]) === written(told);
    checks.ensure("form", same, "what stands beside the payload says another thing");
  }
  const open = item.open.length > 0 ? item.open : take(body.id);
  await checks.attempt("disclosures", () => checkDisclosures(body, open));
  const key = keys?.get(body.key_id);
  if (!key) {
    checks.note("key", OPEN, "the key is not among those that were given");
  } else {
    const why = refuses(key, body.issued_at);
    checks.ensure(why === "revoked" ? "revoked" : "window", !why, `the key is ${why}`);
    await checks.attempt("signature", async () => {
      need(await verifies(key.point, pae(item.type, item.payload), item.signature), "wrong signature");
    });
  }
  const deed = { ...body, digest: own };
  checks.deeds.push(deed);
  return deed;
}

/** Returns why the key does not count for a deed of this time, if it does not. */
export function refuses(key, at) {
  if (key.purpose !== "deed") return "for something else";
  if (key.revoked_at) return "revoked";
  const inTime = key.activated_at <= at && !(key.retired_at && at >= key.retired_at);
  return inTime ? null : "not in its time";
}

async function checkDisclosures(body, texts) {
  const opened = new Set();
  for (const base64 of texts) {
    const raw = unbase64(base64);
    const [, salt, path, value] = fromUtf8(raw).match(/^\["([^"]*)","([a-z0-9_.]+)",(.+)\]$/su) ?? [];
    need(salt && unbase64(salt, true).length === 32, "no disclosure");
    const inner = (place, name) => (place && Object.hasOwn(place, name) ? place[name] : undefined);
    const place = path.split(".").reduce(inner, body);
    const commitment = { commit: await digest(raw), size: utf8(value).length };
    need(place && written(place) === written(commitment), `not committed to at \`${path}\``);
    need(!opened.has(path), "disclosed twice");
    opened.add(path);
  }
}
