// Reads what deeds are made of: strict JSON and its shapes, frames, keys, disclosures. It judges
// nothing; deeds.mjs and logs.mjs do. What is not as docs/deed-format.md says is thrown.
import SHAPES from "./shapes.json" with { type: "json" };
import RULES from "./rules.json" with { type: "json" };

const MAX = Number.MAX_SAFE_INTEGER;
const typeOf = (name) => `application/vnd.service.${name}.v1+json`;
const [DEED, EVIDENCE, INTRODUCTION] = ["deed", "evidence", "seal-key"].map(typeOf);

function need(holds) {
  if (!holds) throw new Error("not as it should be");
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const utf8 = (text) => new TextEncoder().encode(text);
const fromUtf8 = (bytes) =>
  new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

/** Yields the value and whatever lies in it, each with its depth. */
function* inside(value, depth = 0) {
  yield [value, depth];
  if (value === null || typeof value !== "object") return;
  for (const item of Object.values(value)) yield* inside(item, depth + 1);
}

/** Returns the value of a strict JSON text. */
function parse(text) {
  const value = JSON.parse(text);
  let members = 0;
  for (const [item, depth] of inside(value)) {
    const words = isObject(item) ? Object.keys(item) : [];
    members += words.length;
    if (typeof item === "string") words.push(item);
    need(!words.some((word) => /\0|\p{Surrogate}/u.test(word)));
    need(depth < 32 || item === null || typeof item !== "object");
    need(typeof item !== "number" || Math.abs(item) <= MAX);
  }
  // `JSON.parse` keeps the last of two members with one name: the text has more than the value.
  const strings = [...text.matchAll(/"(?:[^"\\]|\\.)*"\s*(:?)/g)];
  need(strings.filter(([, colon]) => colon).length === members);
  return value;
}

/** Returns the value's text with sorted names and without spaces. */
function spelled(value) {
  if (Array.isArray(value)) return `[${value.map(spelled)}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const member = (name) => `${JSON.stringify(name)}:${spelled(value[name])}`;
  return `{${Object.keys(value).sort().map(member)}}`;
}

/** Returns the value of a text that is inside the profile and in its one spelling. */
function parseCanonical(bytes) {
  const text = fromUtf8(bytes);
  const value = parse(text);
  for (const [item, depth] of inside(value)) {
    need(depth <= 8 && (typeof item !== "number" || Number.isInteger(item)));
    need(!isObject(item) || Object.keys(item).every((name) => /^[a-z0-9_]+$/.test(name)));
  }
  need(spelled(value) === text);
  return value;
}

/** Returns whether the value has the shape, in the notation of shapes.json. */
function fits(shape, value) {
  if (isObject(shape)) {
    const has = (name) => Object.hasOwn(value, name) && fits(shape[name], value[name]);
    const names = Object.keys(shape);
    return isObject(value) && Object.keys(value).length === names.length && names.every(has);
  }
  if (Array.isArray(shape) && shape.length === 1) {
    return Array.isArray(value) && value.every((item) => fits(shape[0], item));
  }
  if (Array.isArray(shape)) return shape.some((one) => fits(one, value));
  if (shape === null) return value === null;
  if (shape.startsWith("@")) return fits(SHAPES[shape.slice(1)], value);
  if (shape.startsWith("=")) return matches(shape.slice(1), spelled(value));
  return typeof value === "string" && matches(shape, value);
}

const matches = (pattern, text) => new RegExp(`^(?:${pattern})$`, "su").test(text);

/** Returns what stands at the path, or null; a star stands for all the texts of a list. */
function at(value, path) {
  if (path.length === 0) return value;
  const [name, ...rest] = path;
  if (name === "*") return (value ?? []).map((item) => at(item, rest)).join(",");
  const there = value !== null && typeof value === "object" && Object.hasOwn(value, name);
  return there ? at(value[name], rest) : null;
}

/** Returns whether the value keeps the rules of a group of rules.json: no row of them fits. */
function keeps(group, value) {
  const holds = ([path, shape]) => fits(shape, at(value, path.split(".")));
  return !Object.values(RULES[group]).flat().some((row) => Object.entries(row).every(holds));
}

function unbase64(text, url = false) {
  const plain = url ? text.replace(/[-_]/g, (c) => (c === "-" ? "+" : "/")) : text;
  const bytes = Uint8Array.from(atob(plain), (c) => c.charCodeAt(0));
  need(base64(bytes, url) === text);
  return bytes;
}

function base64(bytes, url) {
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return url ? text.replace(/=+$/, "").replace(/[+/]/g, (c) => (c === "+" ? "-" : "_")) : text;
}

const join = (parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
const sha256 = async (...parts) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", join(parts)));
const digest = async (bytes) => `sha256:${hex(await sha256(bytes))}`;

async function signs(key, message, signature) {
  const point = await crypto.subtle.importKey("raw", key.point, "Ed25519", false, ["verify"]);
  return signature.length === 64 && crypto.subtle.verify("Ed25519", point, signature, message);
}

const pae = (kind, payload) =>
  join([utf8(`DSSEv1 ${utf8(kind).length} ${kind} ${payload.length} `), payload]);

/** Returns the parts of an envelope or API form, and the form. */
function frame(value) {
  if (isObject(value) && !Object.hasOwn(value, "object")) {
    need(fits("@envelope", value) && value.signatures.length === 1);
    const [{ keyid: kid, sig }] = value.signatures;
    const signature = unbase64(sig);
    return { kind: value.payloadType, payload: unbase64(value.payload), kid, signature };
  }
  need(fits("@form", value));
  const { payload_type: kind, signature: by } = value;
  const [payload, signature] = [unbase64(value.payload), unbase64(by.value)];
  return { kind, payload, kid: by.key_id, signature, form: value };
}

/** Returns the bytes of a public key that has this id, and under which signatures mean much. */
async function readPoint(x, kid) {
  need(fits("@kid", x) && !fits("@weak", x));
  const named = await sha256(utf8(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`));
  need(base64(named, true) === kid);
  return unbase64(x, true);
}

/** Returns the keys of a key set by their ids, each with the bytes of its point. */
async function readKeys(value) {
  need(fits("@keys", value));
  const known = new Map();
  for (const key of value.keys) {
    const { kid, x, activated_at, purpose, introduced_by: by } = key;
    const point = await readPoint(x, kid);
    need(!known.has(kid));
    if (by) {
      const [older, told] = [known.get(by.kid), spelled({ activated_at, kid, purpose })];
      const vouched = pae(INTRODUCTION, utf8(told));
      need(older?.purpose === purpose && (await signs(older, vouched, unbase64(by.signature))));
    }
    known.set(kid, { ...key, point });
  }
  return known;
}

/** Returns the salt, the path and the value of a disclosure, each as it stands there. */
function splitDisclosure(text) {
  const parts = fromUtf8(unbase64(text)).match(/^\["([^"]*)","([a-z0-9_.]+)",(.+)\]$/su);
  return parts.slice(1);
}

/** Returns the path and the commitment that the disclosure opens. */
async function openDisclosure(text) {
  const [salt, path, value] = splitDisclosure(text);
  JSON.parse(value); // One value, and no space around it.
  need(unbase64(salt, true).length === 32 && !/^[ \t\n\r]|[ \t\n\r]$/.test(value));
  return [path, { commit: await digest(unbase64(text)), size: utf8(value).length }];
}

export {
  DEED, EVIDENCE, MAX, RULES, SHAPES, at, digest, fits, frame, fromUtf8, hex, isObject, keeps, need,
  openDisclosure, pae, parse, parseCanonical, readKeys, readPoint, sha256, signs,
  spelled, splitDisclosure, unbase64, unhex, utf8,
};
