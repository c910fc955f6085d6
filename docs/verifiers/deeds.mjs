// Judges one deed, and several deeds together: the checks that docs/deed-format.md lists first.
import {
  DEED, RULES, SHAPES, at, digest, fits, isObject, keeps, need, openDisclosure, pae, parseCanonical,
  signs, spelled, utf8,
} from "./formats.mjs";

const [OPEN, FAILED] = [1, 2];

/** The checks that did not pass, each open or failed; and how much was shown, the grade. */
class Report extends Map {
  grade = 0;
  ran = new Set();
  missing = new Set();
  archived = [];

  open(check) {
    if (!this.has(check)) this.set(check, OPEN);
  }

  judge(checks) {
    for (const [check, holds] of Object.entries(checks)) {
      this.ran.add(check);
      if (!holds) this.set(check, FAILED);
    }
  }

  /** Returns what the work comes to; what is not as it should be fails the check. */
  async check(name, work) {
    try {
      const done = await work();
      this.ran.add(name);
      return done;
    } catch {
      this.set(name, FAILED);
      return undefined;
    }
  }

  /** Misses what these rows of the table require and did not run. */
  require(rows) {
    const asked = Object.entries(rows).filter(([, holds]) => holds);
    const names = asked.flatMap(([row]) => RULES.required[row]);
    for (const name of names) if (!this.ran.has(name)) this.missing.add(name);
  }

  /** Takes over what was found of one deed; what it ran, it ran for that deed alone. */
  absorb(own) {
    for (const name of own.missing) this.missing.add(name);
    for (const [name, status] of own) this.set(name, Math.max(status, this.get(name) ?? 0));
  }
}

/** Returns the body of a deed, or nothing when it cannot be read. */
async function readBody(payload, report) {
  const read = await report.check("canonical", () => {
    need(payload.length <= 16384);
    return { body: parseCanonical(payload) };
  });
  if (!read) return undefined;
  const body = isObject(read.body) ? read.body : {};
  const later = (name) =>
    typeof body[name] === "string" && !fits(SHAPES.every[name], body[name]);
  if (later("format") || later("kind")) return report.open("shape");
  const shape = { ...SHAPES.every, [body.kind]: `@${body.kind}` };
  const fit = fits(shape, body) && (body.kind !== "action" || keeps("ending", body.action));
  report.judge({ shape: fit });
  return fit ? body : undefined;
}

/** Returns whether the body keeps the honesty rules; what compares values stands here. */
function isHonest({ kind, subject, actor, seq, ...body }) {
  const content = body[kind];
  if (kind === "admin") return utf8(spelled(content.data)).length <= 4096;
  if (kind === "amendment") {
    const earlier = content.amends.seq < seq;
    return earlier && keeps(kind, content) && keeps("run", content.changes);
  }
  const own = actor.type === "agent" && subject.type === "action" && subject.id === content.id;
  return own && keeps(kind, content) && keeps("run", content);
}

/**
 * Judges one deed and returns its body with its digest, or nothing when it cannot be read. What
 * opens its commitments stands in its API form, or is taken from what is left of a file's.
 */
async function checkDeed(framed, keys, report, left = []) {
  const [own, form] = [new Report(), framed.form];
  const deed = await checkAlone(framed, keys, own);
  const place = left.findIndex((entry) => entry.deed === deed?.id);
  const [entry] = place < 0 ? [] : left.splice(place, 1);
  const texts = form?.disclosures ?? entry?.disclosures ?? [];
  if (deed) await checkDisclosures(deed, texts, own);
  own.require({ deed: true, form, disclosures: texts.length > 0 });
  report.absorb(own);
  return deed;
}

async function checkAlone({ kind, payload, kid, signature, form }, keys, report) {
  report.judge({ type: kind === DEED });
  const body = await readBody(payload, report);
  if (!body) return undefined;
  const deed = { ...body, digest: await digest(payload) };
  report.judge({ honesty: isHonest(body), key_id: kid === body.key_id });
  if (form) {
    const told = [body.id, body.kind, body, { origin: body.log, index: body.seq }];
    const same = spelled([form.id, form.kind, form.body, form.log]) === spelled(told);
    report.judge({ form: same, digest: form.digest === deed.digest });
  }
  const key = keys?.get(body.key_id);
  if (key) {
    const why = refuses(key, body.issued_at);
    report.judge({ key: key.kid === body.key_id });
    report.judge({ revoked: why !== "revoked", window: why !== "window" });
    report.judge({ signature: await signs(key, pae(kind, payload), signature) });
  } else {
    report.open("key");
  }
  return deed;
}

/** Returns the check that fails where the key does not count for a deed of this time. */
function refuses(key, at) {
  if (key.purpose === "deed" && key.revoked_at) return "revoked";
  const inTime = key.activated_at <= at && !(key.retired_at && at >= key.retired_at);
  return key.purpose === "deed" && inTime ? null : "window";
}

/** Judges whether each opens the commitment at its place, and no place is opened twice. */
function checkDisclosures(deed, texts, report) {
  return report.check("disclosures", async () => {
    const opened = await Promise.all(texts.map(openDisclosure));
    need(new Map(opened).size === opened.length);
    for (const [path, commitment] of opened) {
      need(spelled(at(deed, path.split("."))) === spelled(commitment));
    }
  });
}

/** Judges deeds of one log, whether they follow each other or not. */
async function checkTogether(deeds, report, archived = []) {
  const differ = (of) => new Set(deeds.map(of)).size;
  const times = deeds.map((deed) => deed.issued_at);
  report.judge({
    log: differ((deed) => `${deed.log} ${deed.org}`) === 1,
    time: spelled(times) === spelled([...times].sort()),
    unique: differ((deed) => deed.id) === deeds.length,
  });
  const [before, views, amended] = [new Map(), new Map(), new Map()];
  await report.check("amends", () => {
    for (const deed of deeds) {
      const { action, amendment, seq } = deed;
      if (action?.execution) views.set(seq, action);
      const first = before.get(amendment?.amends.seq);
      if (first) {
        const told = { id: first.id, digest: first.digest, seq: first.seq };
        need(spelled(amendment.amends) === spelled(told) && views.has(first.seq));
        need(spelled(deed.subject) === spelled(first.subject));
        const between = archived.some(({ from, to }) => first.seq < from && to <= seq);
        const next = (amended.get(first.seq) ?? 0) + 1;
        if (!between || amendment.n === next) {
          const changes = Object.entries(amendment.changes).filter(([, value]) => value);
          views.set(first.seq, { ...views.get(first.seq), ...Object.fromEntries(changes) });
          amended.set(first.seq, next);
          need(keeps("run", views.get(first.seq)));
        }
      }
      before.set(seq, deed);
    }
  });
}

export { Report, checkDeed, checkTogether, refuses };
