// Reads what deeds are made of: strict JSON and its shapes, keys, checkpoints. It judges nothing;
// verify.mjs does. Whatever is not as docs/deed-format.md says is thrown. Runs in Node 20 and in
// browsers, with nothing but WebCrypto.

const [DEED, EVIDENCE, INTRODUCTION] = ["deed", "evidence", "seal-key"].map(
  (name) => `application/vnd.service.${name}.v1+json`,
);
export { DEED, EVIDENCE };

// A text is a regular expression or the `@name` of a shape, one thing in a list is what there may
// be many of, more are alternatives, and an object has exactly these members.
const SHAPES = JSON.parse(
  globalThis.document
    ? document.getElementById("shapes").textContent
    : await (await import("node:fs/promises")).readFile(new URL("shapes.json", import.meta.url)),
);
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const BASICS = {
  "@text": (value) => typeof value === "string",
  "@bool": (value) => typeof value === "boolean",
  "@count": (value) => Number.isInteger(value) && value >= 0,
  "@object": isObject,
  "@anything": () => true,
  "@time": (value) => fits(SHAPES.time, value) && isDay(value.slice(0, 10)),
};

export function need(holds, why) {
  if (!holds) throw new Error(why);
}

export function fits(shape, value) {
  if (shape === null) return value === null;
  if (Array.isArray(shape)) {
    if (shape.length > 1) return shape.some((one) => fits(one, value));
    return Array.isArray(value) && value.every((item) => fits(shape[0], item));
  }
  if (isObject(shape)) {
    const names = Object.keys(shape);
    const all = isObject(value) && Object.keys(value).length === names.length;
    return all && names.every((name) => Object.hasOwn(value, name) && fits(shape[name], value[name]));
  }
  if (shape.startsWith("@")) return shape in BASICS ? BASICS[shape](value) : fits(SHAPES[shape.slice(1)], value);
  return typeof value === "string" && new RegExp(`^(?:${shape})$`, "u").test(value);
}

function isDay(text) {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().slice(0, 10) === text;
}

export const utf8 = (text) => new TextEncoder().encode(text);
export const fromUtf8 = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

/** Returns the value of a strict JSON text. */
export function parse(text) {
  const value = JSON.parse(text);
  let members = 0;
  const walk = (value, depth) => {
    if (typeof value === "string") need(!/\0|\p{Surrogate}/u.test(value), "a NUL or half a character");
    if (typeof value === "number") need(Math.abs(value) <= Number.MAX_SAFE_INTEGER, "too large");
    if (value === null || typeof value !== "object") return;
    need(depth < 32, "nested too deep");
    for (const [name, item] of Object.entries(value)) {
      if (!Array.isArray(value)) members += 1;
      walk(name, depth);
      walk(item, depth + 1);
    }
  };
  walk(value, 0);
  // `JSON.parse` keeps the last of two members with one name, so the text has more than the value.
  const told = [...text.matchAll(/"(?:[^"\\]|\\.)*"[ \t\r\n]*(:?)/g)].filter((match) => match[1]);
  need(told.length === members, "a member stands twice");
  return value;
}

/** Returns the value's text with sorted names and without spaces. */
export function written(value) {
  if (Array.isArray(value)) return `[${value.map(written)}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${written(value[name])}`);
  return `{${members}}`;
}

/** Returns the one spelling that a value of the profile has. */
export function canonical(value) {
  const walk = (value, depth) => {
    need(depth <= 8 && (typeof value !== "number" || Number.isInteger(value)), "outside the profile");
    if (value === null || typeof value !== "object") return;
    const names = Array.isArray(value) ? [] : Object.keys(value);
    need(names.every((name) => /^[a-z0-9_]+$/.test(name)), "a name of other characters");
    Object.values(value).forEach((item) => walk(item, depth + 1));
  };
  walk(value, 0);
  return written(value);
}

export function unbase64(text, url = false) {
  const plain = url ? text.replace(/[-_]/g, (c) => (c === "-" ? "+" : "/")) : text;
  const bytes = Uint8Array.from(atob(plain), (c) => c.charCodeAt(0));
  need(base64(bytes, url) === text, "no base64, or stray bits");
  return bytes;
}

function base64(bytes, url) {
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return url ? text.replace(/=+$/, "").replace(/[+/]/g, (c) => (c === "+" ? "-" : "_")) : text;
}

export const join = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const fromDigest = (text) => Uint8Array.from(text.slice(7).match(/../g), (pair) => parseInt(pair, 16));
export const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
export const digest = async (bytes) => `sha256:${hex(await sha256(bytes))}`;

export async function verifies(x, message, signature) {
  const key = await crypto.subtle.importKey("raw", x, "Ed25519", false, ["verify"]);
  return signature.length === 64 && crypto.subtle.verify("Ed25519", key, signature, message);
}

export function pae(kind, payload) {
  return join(utf8(`DSSEv1 ${utf8(kind).length} ${kind} ${payload.length} `), payload);
}

// The y coordinates of the points of small order; p - 1, p and p + 1 are the last three.
const WEAK = [
  "00".repeat(32), `01${"00".repeat(31)}`, `ec${"ff".repeat(30)}7f`, `ed${"ff".repeat(30)}7f`,
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", `ee${"ff".repeat(30)}7f`,
];

/** Returns the keys of a key set by their ids, each with the 32 bytes of its point. */
export async function readKeys(value) {
  need(fits("@keys", value), "no key set");
  const known = new Map();
  for (const key of value.keys) {
    const point = unbase64(key.x, true);
    need(!WEAK.includes(hex([...point.slice(0, 31), point[31] & 0x7f])), "a weak key");
    const named = await sha256(utf8(`{"crv":"Ed25519","kty":"OKP","x":"${key.x}"}`));
    need(base64(named, true) === key.kid && !known.has(key.kid), "no thumbprint, or there twice");
    if (key.introduced_by) {
      const older = known.get(key.introduced_by.kid);
      need(older?.purpose === key.purpose, "introduced by no earlier key");
      const { activated_at, kid, purpose } = key;
      const told = pae(INTRODUCTION, utf8(canonical({ activated_at, kid, purpose })));
      need(await verifies(older.point, told, unbase64(key.introduced_by.signature)), "no introduction");
    }
    known.set(key.kid, { ...key, point });
  }
  return known;
}

/** Returns origin, size and root of a checkpoint that a known key signed and none wrongly. */
export async function openCheckpoint(note, keys) {
  const gap = note.lastIndexOf("\n\n");
  const [text, lines] = [note.slice(0, gap + 1), note.slice(gap + 2).split("\n")];
  need(gap >= 0 && lines.pop() === "" && lines.length <= 32 && lines.length > 0, "no note");
  need(utf8(note).length <= 65536 && !/[\0-\t\v-\x1f]/.test(note), "too long, or a control character");
  const [origin, size, root, ...rest] = text.split("\n");
  need(rest.length === 1 && fits("@log", origin) && /^(0|[1-9][0-9]*)$/.test(size), "no checkpoint");
  need(Number(size) <= Number.MAX_SAFE_INTEGER && unbase64(root).length === 32, "no checkpoint");
  let known = false;
  for (const line of lines) {
    const parts = line.match(/^\u2014 ([^\s+]+) (\S+)$/u);
    need(parts && unbase64(parts[2]).length > 4, "no signature line");
    const stamp = unbase64(parts[2]);
    for (const key of keys.values()) {
      const named = (await sha256(join(utf8(`${origin}\n\x01`), key.point))).slice(0, 4);
      const counts = key.purpose === "checkpoint" && key.revoked_at === null && parts[1] === origin;
      if (!counts || hex(named) !== hex(stamp.slice(0, 4))) continue;
      need(await verifies(key.point, utf8(text), stamp.slice(4)), "a wrong signature");
      known = true;
    }
  }
  need(known, "no known key signed the note");
  return { origin, size: Number(size), root: hex(unbase64(root)) };
}
