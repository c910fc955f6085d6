// Signs intents: the body of a call and its headers in, the value of `Service-Intent` out.
//
// `node sign.mjs` reads one call as JSON from standard input; docs/intents/README.md has its members.
import { createHash, createPrivateKey, createPublicKey, randomBytes, sign as ed25519 } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { pathToFileURL } from "node:url";

const b64 = (bytes) => Buffer.from(bytes).toString("base64url");
const sha256 = (text) => createHash("sha256").update(text).digest();
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

/** The RFC 8785 form; JavaScript spells numbers and texts as it does. */
const canonical = (value) => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const names = Object.keys(value).sort();
    return `{${names.map((name) => `${canonical(name)}:${canonical(value[name])}`).join(",")}}`;
  }
  if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    throw new Error("send numbers beyond 2^53-1 as strings");
  }
  if (typeof value === "string" && (value.includes("\0") || /\p{Surrogate}/u.test(value))) {
    throw new Error("a string holds NUL or a lone surrogate");
  }
  return JSON.stringify(value);
};

export const sign = (call) => {
  const seed = Buffer.from(call.private_key, "base64url");
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: "der", type: "pkcs8" });
  const { x } = createPublicKey(key).export({ format: "jwk" });
  const kid = b64(sha256(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`));
  const issued = call.iat ?? Math.floor(Date.now() / 1000);
  const claims = {
    aud: call.audience,
    sub: call.agent,
    tool: call.tool,
    req: `sha256:${sha256(canonical({ args: JSON.parse(call.args), tool: call.tool })).toString("hex")}`,
    mode: call.mode,
    obo: call.on_behalf_of ?? null,
    ses: call.session ?? null,
    idem: call.idempotency_key ?? null,
    iat: issued,
    exp: call.exp ?? issued + 60,
    jti: call.jti ?? b64(randomBytes(16)),
  };
  const header = { alg: "Ed25519", kid, typ: "service-intent+jwt" };
  const signed = `${b64(canonical(header))}.${b64(canonical(claims))}`;
  return `${signed}.${b64(ed25519(null, Buffer.from(signed), key))}`;
};

if (import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  console.log(sign(JSON.parse(readFileSync(0, "utf8"))));
}
