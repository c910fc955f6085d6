// Reads what deeds are made of: strict JSON and its shapes, frames, keys, disclosures. It judges
// nothing; deeds.mjs and logs.mjs do. What is not as docs/deed-format.md says is thrown.
const SHAPES = {
  "text": "=\".*\"",
  "bool": "=true|false",
  "count": "=[0-9]+",
  "small": "=[0-9]{1,9}|[1-3][0-9]{9}|4[01][0-9]{8}|42[0-8][0-9]{7}|429[0-3][0-9]{6}|4294[0-8][0-9]{5}|42949[0-5][0-9]{4}|429496[0-6][0-9]{3}|4294967[01][0-9]{2}|42949672[0-8][0-9]|429496729[0-5]",
  "object": "=[{].*[}]",
  "anything": "=.*",

  "id": "[0-7][0-9a-hjkmnp-tv-z]{25}",
  "time": [
    "(?!9999-12-(31|30T2[23]))[0-9]{4}-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9][.][0-9]{3}Z",
    "[0-9]{4}-(0[469]|11)-(0[1-9]|[12][0-9]|30)T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9][.][0-9]{3}Z",
    "[0-9]{4}-02-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9][.][0-9]{3}Z",
    "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9][.][0-9]{3}Z"
  ],
  "digest": "sha256:[0-9a-f]{64}",
  "word": "[a-z0-9_]{1,64}",
  "name": "[A-Za-z0-9._-]{1,128}",
  "kid": "[A-Za-z0-9_-]{43}",
  "lsn": "[0-9A-F]{1,8}/[0-9A-F]{1,8}",
  "amount": "(?=.{1,64}$)-?(0|[1-9][0-9]*)([.][0-9]+)?",
  "unit": "[A-Z0-9_]{1,16}",
  "event": "(?=.{1,64}$)[a-z0-9_]+[.][a-z0-9_]+",
  "log": "(?=.{1,255}$)[a-z0-9.:\\[\\]-]+/logs/log_[0-7][0-9a-hjkmnp-tv-z]{25}",
  "tool": "[a-z0-9-]{2,32}[.][A-Za-z0-9_./-]{1,64}",
  "outcome": "allow|deny|require_approval",
  "act_id": "act_[0-7][0-9a-hjkmnp-tv-z]{25}",
  "agt_id": "agt_[0-7][0-9a-hjkmnp-tv-z]{25}",
  "apr_id": "apr_[0-7][0-9a-hjkmnp-tv-z]{25}",
  "con_id": "con_[0-7][0-9a-hjkmnp-tv-z]{25}",
  "deed_id": "deed_[0-7][0-9a-hjkmnp-tv-z]{25}",
  "key_id": "key_[0-7][0-9a-hjkmnp-tv-z]{25}",
  "org_id": "org_[0-7][0-9a-hjkmnp-tv-z]{25}",
  "pol_id": "pol_[0-7][0-9a-hjkmnp-tv-z]{25}",
  "pv_id": "pv_[0-7][0-9a-hjkmnp-tv-z]{25}",
  "usr_id": "usr_[0-7][0-9a-hjkmnp-tv-z]{25}",
  "person_id": "(mem|usr)_[0-7][0-9a-hjkmnp-tv-z]{25}",

  "commitment": {"commit": "@digest", "size": "@count"},
  "hidden": ["@commitment", null],

  "every": {
    "format": "service[.]deed[.]v1", "id": "@deed_id", "kind": "action|admin|amendment",
    "org": "@org_id", "livemode": "@bool", "log": "@log", "seq": "@count", "prev": "@digest",
    "issued_at": "@time", "key_id": "@kid", "actor": "@actor",
    "subject": {"type": "@word", "id": "@name"}
  },
  "actor": [
    {"type": "agent", "id": "@agt_id"}, {"type": "api_key", "id": "@key_id"},
    {"type": "user", "id": "@usr_id"}, {"type": "system", "id": "@word"}
  ],
  "action": {
    "id": "@act_id", "mode": "gateway|proxy", "status": "executed|failed|denied|cancelled",
    "tool": ["@tool", "@commitment"], "tool_digest": ["@digest", null],
    "connector": [{"id": ["@con_id", null], "type": "@word"}, null],
    "side_effect": ["read|write|destructive", null],
    "received_at": "@time", "transport": ["@word", null], "client": "@hidden",
    "request": "@commitment", "on_behalf_of": "@hidden", "session": "@hidden",
    "intent": {
      "mode": "off|optional|required", "status": "absent|ignored|verified",
      "jws": [{"digest": "@digest", "key_id": "@name", "alg": "@name"}, null]
    },
    "decision": "@decision", "approval": ["@approval", null],
    "execution": ["@execution", null], "witness": ["@witness", null],
    "cost": [{"amount": "@amount", "currency": "@unit"}, null],
    "undo": [{"undoes": "@act_id", "plan": "@commitment"}, null]
  },
  "decision": {
    "outcome": "@outcome", "code": ["@code", null], "source": "rule|builtin|default|budget|stop",
    "rule_id": ["@name", null], "reason": "@hidden", "policy": "@pol_id",
    "policy_version": "@pv_id", "policy_digest": "@digest",
    "shadow": [{"outcome": "@outcome", "rule_id": ["@name", null], "policy_version": "@pv_id"}, null]
  },
  "code": [
    "approval_required|policy_denied|default_denied|budget_exceeded|policy_unavailable",
    "agent_stopped|agent_suspended|org_stopped|tool_unknown|tool_changed|connector_disabled"
  ],
  "approval": {
    "id": "@apr_id", "status": "pending|approved|denied|expired|cancelled|voided",
    "decisions": [{
      "by": "@person_id", "decision": "approve|deny", "assurance": "session|email_link", "at": "@time"
    }],
    "context": "@commitment"
  },
  "execution": {
    "status": "running|succeeded|failed|unknown",
    "attestation": ["gateway_executed|edge_claimed", null],
    "started_at": ["@time", null], "finished_at": ["@time", null], "error_code": ["@word", null],
    "error_message": "@hidden", "result": "@hidden", "result_digest": "@hidden",
    "lossy_numbers": "@bool"
  },
  "witness": {
    "level": "L0|L1|L2", "required_level": "L0|L1|L2",
    "verdict": "VERIFIED|MISMATCH|UNVERIFIABLE",
    "method": "reported|edge_reported|read_back|change_log|undo_footprint|none",
    "witnessed_at": "@time", "detail": "@commitment",
    "sources": [{
      "type": "read_back|change_log", "lsn_from": ["@lsn", null], "lsn_to": ["@lsn", null],
      "evidence": "@commitment"
    }]
  },
  "admin": {
    "event": "@event", "before": "@hidden", "after": "@hidden", "reason": "@hidden",
    "data": "@object"
  },
  "amendment": {
    "amends": "@place", "n": "@small", "reason": "late_evidence|correction",
    "changes": {"execution": ["@execution", null], "witness": ["@witness", null]}
  },
  "place": {"id": "@deed_id", "digest": "@digest", "seq": "@count"},

  "form": {
    "object": "deed", "id": "@text", "kind": "@text", "body": "@anything",
    "payload_type": "@text", "payload": "@text", "digest": "@text",
    "signature": {"alg": "Ed25519", "key_id": "@text", "value": "@text"},
    "log": {"origin": "@text", "index": "@count"}, "disclosures": ["@text"]
  },
  "envelope": {
    "payload": "@text", "payloadType": "@text", "signatures": [{"keyid": "@kid", "sig": "@text"}]
  },
  "archived": {
    "object": "archived_deeds", "log": "@log", "from": "@count", "to": "@count",
    "partition": "[0-9]{4}_[0-9]{2}", "subtrees": ["@digest"], "last": "@digest",
    "checkpoint": ["@text", null]
  },
  "evidence": {
    "object": "evidence", "format": "service[.]evidence[.]v1", "deeds": ["@envelope"],
    "proofs": ["@text"], "consistency": [{"from": "@count", "path": ["@digest"]}],
    "keys": "@anything", "disclosures": [{"deed": "@deed_id", "disclosures": ["@text"]}],
    "intents": [{"deed": "@deed_id", "jws": "@text", "public_key": "@text"}],
    "manifest": "@envelope"
  },
  "manifest": {
    "format": "service[.]evidence[.]v1", "org": "@org_id", "log": "@log", "issued_at": "@time",
    "key_id": "@kid", "as_of": {"size": "@count", "root": "@digest"}, "deeds": ["@place"]
  },
  "intent_header": {"alg": "Ed25519|EdDSA", "kid": "@kid", "typ": "service-intent[+]jwt"},
  "claims": {
    "aud": "@text", "sub": "@agt_id", "tool": "@text", "req": "@digest", "mode": "gateway|proxy",
    "obo": ["@text", null], "ses": ["@text", null], "idem": ["@text", null],
    "iat": "@count", "exp": "@count", "jti": "[A-Za-z0-9_-]{22,64}"
  },
  "more_claims": {"tdg": "@digest", "purpose": "@text"},
  "weak": [
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA",
    "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA",
    "7P_______________________________________38", "7P________________________________________8",
    "7f_______________________________________38", "7f________________________________________8",
    "7v_______________________________________38", "7v________________________________________8",
    "JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_AU", "JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_IU",
    "xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA3o", "xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA_o"
  ],
  "keys": {"object": "seal_key_set", "keys": ["@key"]},
  "key": {
    "kty": "OKP", "crv": "Ed25519", "alg": "Ed25519", "use": "sig", "kid": "@kid", "x": "@kid",
    "purpose": "deed|checkpoint", "activated_at": "@time", "retired_at": ["@time", null],
    "revoked_at": ["@time", null], "revocation_reason": ["@word", null],
    "compromised_since": ["@time", null],
    "introduced_by": [{"kid": "@kid", "signature": "@text"}, null]
  }
};
const RULES = {
  "checks": {
    "input": "The input is a deed in a form that the verifier reads.",
    "type": "The payload's type is that of a deed.",
    "canonical": "The payload is strict JSON in RFC 8785 form and inside the profile.",
    "shape": "The payload has the members of its kind, and no others.",
    "honesty": "The deed claims nothing that the honesty rules forbid.",
    "key_id": "The frame names the key that the signed body names.",
    "form": "The members of the API form repeat the payload and the frame.",
    "digest": "The digest of the API form is the payload's.",
    "key": "The key is among those that are trusted.",
    "window": "The key was made for deeds and was in its time when the deed was issued.",
    "revoked": "The key was not revoked.",
    "signature": "The signature is the key's over the payload and its type.",
    "disclosures": "Each disclosure opens the commitment at its place.",
    "log": "All deeds are of one log and one org.",
    "sequence": "The places in the log follow each other without a gap.",
    "prev": "Each deed names the digest of the previous one; the first one of a log, the genesis digest.",
    "time": "No deed is issued before the one that it follows.",
    "unique": "No deed id occurs twice.",
    "amends": "An amendment names the deed that it amends as it is, and what it leaves is honest.",
    "archived": "Archived deeds have their places in the log, and no signed checkpoint given with them is of another tree.",
    "intents": "Each signed intent is the one that its deed names, and of the call that the deed records.",
    "checkpoint": "The known checkpoint is signed by a trusted checkpoint key.",
    "root": "The known checkpoint is of this log, and the deeds make its root.",
    "manifest": "The signed list of a file of evidence names exactly its deeds.",
    "inclusion": "Each deed of the evidence is in the tree of the list's checkpoint.",
    "size": "The log has as many deeds as expected."
  },
  "required": {
    "input": ["input"],
    "deed": [
      "type", "canonical", "shape", "honesty", "key_id", "key", "window", "revoked", "signature"
    ],
    "form": ["form", "digest"],
    "disclosures": ["disclosures"],
    "several": ["log", "time", "unique"],
    "chain": ["sequence", "prev"],
    "beginning": ["prev"],
    "amendment": ["amends"],
    "archived": ["sequence", "prev", "archived"],
    "evidence": ["manifest", "inclusion"],
    "intents": ["intents"],
    "checkpoint": ["checkpoint", "root"],
    "size": ["size"],
    "stored": ["digest", "log", "sequence", "prev", "time"]
  },

  "ending": {
    "run_and_witness_after_an_end_without": [
      {"status": "denied|cancelled", "execution": "@object"},
      {"status": "denied|cancelled", "witness": "@object"}
    ],
    "run_and_witness_missing": [
      {"status": "executed|failed", "execution": null},
      {"status": "executed|failed", "witness": null}
    ],
    "status_of_the_run": [
      {"status": "failed", "execution.status": "running|succeeded|unknown"},
      {"status": "executed", "execution.status": "failed"}
    ]
  },
  "action": {
    "deny_ends": [
      {"decision.outcome": "deny", "status": "executed|failed|cancelled"},
      {"decision.outcome": "deny", "approval": "@object"}
    ],
    "allow_runs": [
      {"decision.outcome": "allow", "status": "denied|cancelled"},
      {"decision.outcome": "allow", "approval": "@object"}
    ],
    "approval_asked": [
      {"decision.outcome": "require_approval", "approval": null}
    ],
    "approval_fits_ending": [
      {"approval.status": "approved", "status": "denied|cancelled"},
      {"approval.status": "denied|expired|voided", "status": "executed|failed|cancelled"},
      {"approval.status": "cancelled", "status": "executed|failed|denied"},
      {"approval.status": "pending"}
    ],
    "person_decided": [
      {"approval.status": "approved", "approval.decisions.*.decision": ""},
      {"approval.status": "approved", "approval.decisions.*.decision": ".*deny.*"},
      {"approval.status": "denied", "approval.decisions.*.decision": "(?!.*deny).*"}
    ],
    "rule_named": [
      {"decision.source": "rule", "decision.rule_id": null}
    ],
    "no_name_denied": [
      {"tool": "@commitment", "decision.code": null},
      {"tool": "@commitment", "decision.code": "(?!tool_unknown).*"}
    ],
    "unknown_tool_denied": [
      {"decision.code": "tool_unknown", "decision.outcome": "allow|require_approval"}
    ],
    "intent_fits_mode": [
      {"intent.status": "verified", "intent.jws": null},
      {"intent.status": "verified", "intent.mode": "off"},
      {"intent.status": "absent|ignored", "intent.jws": "@object"},
      {"intent.status": "absent", "intent.mode": "required"},
      {"intent.status": "ignored", "intent.mode": "optional|required"}
    ]
  },
  "run": {
    "mode_fits_attestation": [
      {"mode": "gateway", "execution.attestation": "edge_claimed"},
      {"mode": "proxy", "execution.attestation": "gateway_executed"}
    ],
    "run_ended": [
      {"execution.status": "running"}
    ],
    "success_without_error": [
      {"execution.status": "succeeded", "execution.error_code": "@text"},
      {"execution.status": "succeeded", "execution.error_message": "@object"}
    ],
    "unattested_unknown": [
      {"execution.status": "running|succeeded|failed", "execution.attestation": null},
      {"execution.result": "@object", "execution.attestation": null},
      {"execution.result_digest": "@object", "execution.attestation": null}
    ],
    "one_result": [
      {"execution.result": "@object", "execution.result_digest": "@object"}
    ],
    "method_fits_level": [
      {"witness.method": "reported|edge_reported|none", "witness.level": "L1|L2"},
      {"witness.method": "read_back", "witness.level": "L0|L2"},
      {"witness.method": "change_log|undo_footprint", "witness.level": "L0|L1"}
    ],
    "verified_by_evidence": [
      {
        "witness.verdict": "VERIFIED", "witness.level": "L1",
        "witness.sources.*.type": "(?!.*read_back).*"
      },
      {
        "witness.verdict": "VERIFIED", "witness.level": "L2",
        "witness.sources.*.type": "(?!.*change_log).*"
      }
    ],
    "nothing_verifies_nothing": [
      {"witness.method": "none", "witness.verdict": "VERIFIED|MISMATCH"}
    ],
    "unknown_unverifiable": [
      {"execution.status": "unknown", "witness.verdict": "VERIFIED|MISMATCH"}
    ],
    "edge_claim_l0": [
      {"execution": "@object", "execution.attestation": null, "witness.level": "L1|L2"},
      {"execution.attestation": "edge_claimed", "witness.level": "L1|L2"}
    ],
    "method_fits_attestation": [
      {"execution": "@object", "execution.attestation": null, "witness.method": "reported"},
      {"execution": "@object", "execution.attestation": null, "witness.method": "edge_reported"},
      {"execution.attestation": "edge_claimed", "witness.method": "reported"},
      {"execution.attestation": "gateway_executed", "witness.method": "edge_reported"}
    ]
  },
  "amendment": {
    "counted": [
      {"n": "=0"}
    ],
    "something_changed": [
      {"changes.execution": null, "changes.witness": null}
    ]
  }
};

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


// The tree of RFC 6962 over a log's deeds: its roots as it grows, and proofs that it grew.

const node = (left, right) => sha256([1], left, right);
const leaf = (digest) => sha256([0], unhex(digest.slice(7)));
const half = (number) => Math.floor(number / 2);

/** Yields the heights of the fewest full subtrees over the leaves from start to end. */
function* heights(start, end) {
  for (let place = start; place < end; ) {
    let [height, size] = [0, 1];
    for (; place % (size * 2) === 0 && place + size * 2 <= end; size *= 2) height += 1;
    yield height;
    place += size;
  }
}

/** The full subtrees that a growing tree consists of, the largest first. */
class Tree {
  size = 0;
  full = [];

  /** Appends a full subtree; each one of the same height on the left joins it. */
  async join(height, root) {
    this.size += 2 ** height;
    let [above, whole] = [height, root];
    for (; this.full.at(-1)?.height === above; above += 1) {
      whole = await node(this.full.pop().root, whole);
    }
    this.full.push({ height: above, root: whole });
  }

  async root() {
    const [smallest, ...larger] = this.full.toReversed();
    let whole = smallest?.root ?? (await sha256());
    for (const { root } of larger) whole = await node(root, whole);
    return whole;
  }
}

/** Returns the roots of the older tree and the whole one that the path leads to (RFC 9162). */
async function climb(start, place, last, path) {
  let [older, whole] = [start, start];
  for (const sibling of path) {
    need(last > 0);
    if (place % 2 === 1 || place === last) {
      [older, whole] = [await node(sibling, older), await node(sibling, whole)];
      for (; place % 2 === 0 && place > 0; last = half(last)) place = half(place);
    } else {
      whole = await node(whole, sibling);
    }
    [place, last] = [half(place), half(last)];
  }
  need(last === 0);
  return [hex(older), hex(whole)];
}

/** Refuses a path that does not show that the old tree is the beginning of the other. */
async function grew(old, whole, path) {
  if (old.size === whole.size) return need(path.length === 0 && old.root === whole.root);
  let [start, place, last] = [unhex(old.root), old.size - 1, whole.size - 1];
  for (; place % 2 === 1; last = half(last)) place = half(place);
  if (place > 0) {
    // The old size is no power of two: the path begins with the old tree's last full subtree.
    need(path.length > 0);
    [start, ...path] = path;
  }
  need(spelled(await climb(start, place, last, path)) === spelled([old.root, whole.root]));
}


// Reads and judges archived deeds: the lines that stand for them, and files that have them. Such a
// file has lines of deeds, or is the plain dump of a partition as `pg_dump` writes it.

const ESCAPES = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };

const isArchived = (part) => part?.object === "archived_deeds";
const begin = (part) => (isArchived(part) ? part.from : part.seq);
const end = (part) => (isArchived(part) ? part.to : part.seq + 1);
/** Returns the digest of the deed, or of the last one that is archived. */
const last = (part) => (isArchived(part) ? part.last : part.digest);
const hasItsSubtrees = ({ subtrees, from, to }) =>
  subtrees.length === [...heights(from, to - 1)].length;

/**
 * Returns the roots at these sizes, as far as they are reached at the end of a line. Undefined
 * where the lines make no tree: they begin with another place than the first, or leave one out.
 */
async function rootsOf(parts, sizes) {
  const tree = new Tree();
  const roots = new Map([[0, hex(await tree.root())]]);
  if (begin(parts[0]) !== 0) return undefined;
  for (const part of parts) {
    if (isArchived(part)) {
      if (tree.size !== part.from || !hasItsSubtrees(part)) return undefined;
      for (const [place, height] of [...heights(part.from, part.to - 1)].entries()) {
        await tree.join(height, unhex(part.subtrees[place].slice(7)));
      }
    }
    await tree.join(0, await leaf(last(part)));
    if (sizes.has(tree.size)) roots.set(tree.size, hex(await tree.root()));
  }
  return roots;
}

/**
 * Adds the deeds of a file to an archive: a map of logs, each with the frames by their places.
 * Where the file has a table of deeds, it is a dump, and nothing else in it counts.
 */
function readArchive(bytes, name, archive) {
  const refuse = (why) => {
    throw new Error(`\`${name}\`: ${why}`);
  };
  if (spelled([...bytes.slice(0, 5)]) === spelled([...utf8("PGDMP")])) {
    refuse("expected a plain dump; `pg_restore --file - DUMP` writes one of this");
  }
  const lines = fromUtf8(bytes).split("\n").entries();
  const numbered = Array.from(lines, ([place, line]) => [place + 1, line]);
  const dumped = [...readDump(numbered)];
  const deeds = numbered.filter(([, line]) => line.trimStart().startsWith("{"));
  const found = dumped.length > 0 ? dumped : deeds;
  if (found.length === 0) {
    refuse("expected lines of deeds, or the plain dump of a table of deeds");
  }
  for (const [number, row] of found) {
    try {
      const line = isObject(row) ? null : parse(row);
      if (isArchived(line)) continue;
      const framed = line === null ? readRow(row) : frame(line);
      const { log, seq } = parse(fromUtf8(framed.payload));
      need(typeof log === "string" && Number.isInteger(seq));
      if (!archive.has(log)) archive.set(log, new Map());
      archive.get(log).set(seq, framed);
    } catch (error) {
      refuse(`line ${number} is no deed: ${error.message}`);
    }
  }
}

/** Yields the rows of the tables of deeds in a plain dump, each with its line's number. */
function* readDump(numbered) {
  let names = [];
  for (const [number, text] of numbered) {
    const line = text.replace(/\r$/, "");
    const copied = line.match(/^COPY \S+ \((.*)\) FROM stdin;$/);
    if (copied) names = copied[1].split(", ");
    else if (line === "\\.") names = [];
    else if (["body", "key_id", "signature"].every((name) => names.includes(name))) {
      const cells = line.split("\t").map(unescaped);
      yield [number, Object.fromEntries(names.map((name, place) => [name, cells[place]]))];
    }
  }
}

/** Returns the frame of a row's deed. */
function readRow({ body, key_id: kid, signature }) {
  need(/^\\x[0-9a-f]{128}$/.test(signature) && fits("@kid", kid));
  return { kind: DEED, payload: utf8(body), kid, signature: unhex(signature.slice(2)) };
}

const unescaped = (cell) => cell.replace(/\\(.)/g, (_, letter) => ESCAPES[letter] ?? letter);

/** Returns the parts with the deeds of an archive in the place of the lines that stand for them. */
function fill(parts, archive) {
  const filled = (part) => {
    const of = isArchived(part) && archive.get(part.log);
    if (!of) return [part];
    const { from, to } = part;
    const found = [...of.keys()].filter((seq) => from <= seq && seq < to).sort((a, b) => a - b);
    if (found.length > 0 && found.length < to - from) {
      const had = `the files have ${found.length} of ${to - from} archived deeds from ${from} on`;
      throw new Error(`${had}; expected all of them, or none`);
    }
    return found.length > 0 ? found.map((seq) => of.get(seq)) : [part];
  };
  return parts.flatMap(filled);
}


// Judges one deed, and several deeds together: the checks that docs/deed-format.md lists first.

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


// Judges signed intents: each is the one that its deed names, and of the call that it records.

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


// Judges logs and files of evidence: order, checkpoints, lists and proofs.

/** Judges deeds, and the lines that stand for archived ones, as a part of their log. */
async function checkLog(parts, { keys, note, size }, report) {
  const [deeds, archived] = [parts.filter((part) => !isArchived(part)), parts.filter(isArchived)];
  const first = deeds[0];
  report.grade = parts.length > 1 ? 2 : 1;
  const genesis = await digest(utf8(`service.deed.genesis.v1\n${first.log}\n`));
  const follow = parts.slice(1).map((part, place) => [parts[place], part]);
  const linked = ([before, part]) => isArchived(part) || part.prev === last(before);
  report.judge({
    sequence: follow.every(([before, part]) => begin(part) === end(before)),
    prev: follow.every(linked) && (first.seq > 0 || first.prev === genesis),
    size: [null, end(parts.at(-1))].includes(size),
  });
  await checkTogether(deeds, report, archived);
  const sound = archived.length === 0 || !report.has("sequence");
  const rootsAt = (sizes) => (sound ? rootsOf(parts, sizes) : undefined);
  const trust = { keys, rootsAt };
  let vouched = archived.length > 0 ? await checkArchived(archived, first.log, trust, report) : 0;
  const known = await openKnown(keys, note, report);
  if (known) {
    const roots = await rootsAt(new Set([known.size]));
    const alone = parts.length === 1 && archived.length === 0 && known.size !== 1;
    const divided = archived.some(({ from, to }) => from < known.size && known.size < to);
    const [same, held] = [known.origin === first.log, roots?.get(known.size) === known.root];
    if (same && (alone || divided || !roots)) report.open("root");
    else report.judge({ root: same && held });
    if (held && !report.has("root")) {
      vouched = Math.max(vouched, known.size);
      if (known.size > 0) report.grade = 3;
      if (archived.some(({ to }) => to > vouched)) report.open("root");
    }
  }
  report.archived = archived.map(({ from, to }) => [from, to, to <= vouched]);
  if (report.archived.some(([, , proved]) => !proved)) report.grade = 1;
}

/**
 * Judges the lines of archived deeds, and returns the size up to which a checkpoint beside them
 * vouches for what they say. One that no trusted key signed is left aside.
 */
async function checkArchived(archived, log, { keys, rootsAt }, report) {
  const vouched = await report.check("archived", async () => {
    need(archived.every((part) => part.log === log && hasItsSubtrees(part)));
    const heads = [];
    for (const part of archived) {
      const head = await signedBeside(part, keys);
      need(!head || (head.origin === log && head.size >= part.to));
      if (head) heads.push(head);
    }
    const sizes = new Set(heads.map(({ size }) => size));
    const roots = (await rootsAt(sizes)) ?? new Map();
    need(heads.every(({ size, root }) => [undefined, root].includes(roots.get(size))));
    return [...sizes].reduce((most, size) => (roots.has(size) ? Math.max(most, size) : most), 0);
  });
  return vouched ?? 0;
}

/** Returns what the checkpoint beside archived deeds says, if a trusted key signed it. */
async function signedBeside({ checkpoint }, keys) {
  if (keys === null || checkpoint === null) return undefined;
  return openCheckpoint(checkpoint, keys).catch(() => undefined);
}

/** Returns what the known checkpoint says, if there is one that counts. */
async function openKnown(keys, note, report) {
  if (note === null) return undefined;
  if (keys === null) return report.open("checkpoint");
  return report.check("checkpoint", () => openCheckpoint(note, keys));
}

/** Judges the deeds of a file of evidence, its signed list and its proofs. */
async function checkEvidence(file, frames, trust, report) {
  if (!trust.keys) report.open("key");
  const keys = trust.keys ?? (await report.check("key", () => readKeys(file.keys)));
  const deeds = [];
  if (!keys) return deeds;
  const left = [...file.disclosures];
  for (const each of frames) deeds.push(await checkDeed(each, keys, report, left));
  report.judge({ disclosures: left.length === 0 });
  if (!deeds.includes(undefined)) {
    report.grade = 1;
    await checkTogether(deeds, report);
    // What an intent says is held to what the disclosures open.
    if (!report.has("disclosures")) await checkIntents(file, deeds, report);
    const told = await checkList(file.manifest, deeds, keys, report);
    if (told) await checkTree({ file, told, deeds, keys }, trust, report);
  }
  return deeds;
}

/** Judges the proofs that the deeds, and the known checkpoint, are in the list's tree. */
async function checkTree({ file, told, deeds, keys }, trust, report) {
  const asOf = { origin: told.log, size: told.as_of.size, root: told.as_of.root.slice(7) };
  report.judge({ size: [null, asOf.size].includes(trust.size) });
  await report.check("inclusion", async () => {
    need(file.proofs.length === deeds.length);
    for (const [place, deed] of deeds.entries()) {
      await checkProof(deed, file.proofs[place], asOf, keys);
    }
  });
  const known = await openKnown(trust.keys, trust.note, report);
  if (!known) return;
  const entry = file.consistency.find(({ from }) => from === known.size);
  if (!entry && known.size !== asOf.size) return report.open("root");
  await report.check("root", async () => {
    need(known.origin === asOf.origin && known.size > 0 && known.size <= asOf.size);
    await grew(known, asOf, (entry?.path ?? []).map((text) => unhex(text.slice(7))));
    report.grade = 3;
  });
}

/** Refuses a proof that does not lead from the deed to the root of the list's checkpoint. */
async function checkProof(deed, text, asOf, keys) {
  const gap = text.indexOf("\n\n");
  const [name, index, ...path] = text.slice(0, gap).split("\n");
  need(gap > 0 && name === "c2sp.org/tlog-proof@v1" && index === `index ${deed.seq}`);
  const hashes = path.map((line) => unbase64(line));
  need(hashes.length <= 63 && hashes.every((hash) => hash.length === 32));
  need(spelled(await openCheckpoint(text.slice(gap + 2), keys)) === spelled(asOf));
  const [, root] = await climb(await leaf(deed.digest), deed.seq, asOf.size - 1, hashes);
  need(root === asOf.root);
}

/** Returns the signed list if it names exactly these deeds. */
async function checkList(manifest, deeds, keys, report) {
  const read = await report.check("manifest", () => {
    const framed = frame(manifest);
    const told = parseCanonical(framed.payload);
    need(fits("@manifest", told));
    return { ...framed, told, key: keys.get(told.key_id) };
  });
  if (!read?.key) return read && report.open("manifest");
  const { kind, payload, kid, signature, told, key } = read;
  return report.check("manifest", async () => {
    need(kind === EVIDENCE && kid === told.key_id && !refuses(key, told.issued_at));
    need(await signs(key, pae(kind, payload), signature));
    const here = deeds.map(({ id, seq, digest }) => ({ id, seq, digest }));
    need(spelled(told.deeds) === spelled(here));
    const places = [...deeds.map((deed) => deed.seq), told.as_of.size - 1];
    need(places.every((place, index) => index === 0 || places[index - 1] <= place));
    need(deeds.every((deed) => deed.log === told.log && deed.org === told.org));
    const amendments = deeds.flatMap((deed) => deed.amendment ?? []);
    const counted = new Set(amendments.map(({ amends, n }) => `${amends.id} ${n}`));
    need(amendments.every(({ amends, n }) => n <= 1 || counted.has(`${amends.id} ${n - 1}`)));
    return told;
  });
}

/** Returns origin, size and root of a checkpoint that a known key signed and none wrongly. */
async function openCheckpoint(note, keys) {
  const gap = note.lastIndexOf("\n\n");
  const [text, lines] = [note.slice(0, gap + 1), note.slice(gap + 2).split("\n")];
  need(gap >= 0 && lines.pop() === "" && lines.length >= 1 && lines.length <= 32);
  need(utf8(note).length <= 65536 && !/[\0-\t\v-\x1f]/.test(note));
  const [origin, size, root, end, ...rest] = text.split("\n");
  need(end === "" && rest.length === 0 && fits("@log", origin) && /^(0|[1-9]\d*)$/.test(size));
  need(Number(size) <= MAX && unbase64(root).length === 32);
  let known = false;
  for (const line of lines) {
    const parts = line.match(/^\u2014 ([^\p{White_Space}\p{Cc}+]+) (\S+)$/u);
    need(parts && unbase64(parts[2]).length > 4);
    const stamp = unbase64(parts[2]);
    for (const key of keys.values()) {
      const named = (await sha256(utf8(`${origin}\n\x01`), key.point)).slice(0, 4);
      const counts = key.purpose === "checkpoint" && key.revoked_at === null;
      if (!counts || parts[1] !== origin || hex(named) !== hex(stamp.slice(0, 4))) continue;
      need(await signs(key, utf8(text), stamp.slice(4)));
      known = true;
    }
  }
  need(known);
  return { origin, size: Number(size), root: hex(unbase64(root)) };
}


// Checks deeds offline, as docs/deed-format.md says: in Node 20 from the command line, in a browser
// from index.html. Needs nothing but WebCrypto.
//
//     node verify.mjs FILE [--keys KEYS.JSON] [--known-checkpoint NOTE] [--expected-size N]
//                     [--archived FILE]...
//     node verify.mjs --vectors docs/vectors    prints what each published case comes to

/**
 * Returns the verdict, the grade, how each check that did not pass came out, the deeds, the places
 * of those whose signed intents are not shown, and those of archived deeds: from one up to another,
 * and whether a checkpoint vouches for them.
 */
async function verify(bytes, { keys = null, note = null, size = null, archive = new Map() } = {}) {
  const [report, trust, deeds] = [new Report(), { keys, note, size }, []];
  const input = await report.check("input", () => readInput(bytes));
  const nothing = { grade: null, checks: { input: "failed" }, deeds, hidden: [], archived: [] };
  if (!input) return { verdict: "malformed", ...nothing };
  const frames = input.file ? input.frames : fill(input.frames, archive);
  if (frames.every(isArchived)) return { verdict: "malformed", ...nothing };
  if (input.file) {
    deeds.push(...(await checkEvidence(input.file, frames, trust, report)));
  } else {
    const parts = [];
    for (const part of frames) {
      parts.push(isArchived(part) ? part : await checkDeed(part, keys, report));
    }
    if (!parts.includes(undefined)) await checkLog(parts, trust, report);
    for (const part of parts) if (!isArchived(part)) deeds.push(part);
  }
  const rows = required(input.file, deeds.filter(Boolean), trust);
  report.require({ ...rows, archived: frames.some(isArchived) });
  // Where something is at fault, what rests on it did not have to run.
  if (report.size === 0) for (const name of report.missing) report.open(name);
  const names = Object.keys(RULES.checks).filter((name) => report.has(name));
  const status = [null, "undecided", "failed"];
  const worst = Math.max(0, ...report.values());
  return {
    verdict: ["valid", "undecidable", "invalid"][worst],
    grade: [null, "signed", "chained", "checkpointed"][worst === 0 ? report.grade : 0],
    checks: Object.fromEntries(names.map((name) => [name, status[report.get(name)]])),
    deeds: deeds.filter(Boolean),
    hidden: notShown(input.file, deeds.filter(Boolean)),
    archived: report.archived.map(([from, to, proved]) => [from, to, proved && worst === 0]),
  };
}

/** Returns the frame of a deed, or the line itself where it stands for archived deeds. */
function readLine(value) {
  if (value?.object !== "archived_deeds") return frame(value);
  need(fits("@archived", value) && value.from < value.to);
  return value;
}

/** Returns the file of evidence, if it is one, and the deeds' frames and archived parts. */
function readInput(bytes) {
  const text = fromUtf8(bytes);
  let value;
  try {
    value = parse(text);
  } catch {
    const lines = text.split("\n").filter((line) => !/^[ \t\r]*$/.test(line));
    need(lines.length > 0);
    return { frames: lines.map((line) => readLine(parse(line))) };
  }
  if (value?.object !== "evidence") return { frames: [readLine(value)] };
  const file = { intents: [], ...value };
  need(fits("@evidence", file) && file.deeds.length > 0);
  return { file, frames: file.deeds.map(frame) };
}

/** Returns which rows of the table of required checks are about an input as a whole. */
function required(file, deeds, { note, size }) {
  const several = deeds.length > 1;
  return {
    input: true,
    several,
    chain: several && !file,
    beginning: !file && deeds[0]?.seq === 0,
    amendment: deeds.some((deed) => deed.kind === "amendment"),
    disclosures: file?.disclosures.length > 0,
    evidence: file,
    intents: file?.intents.length > 0,
    checkpoint: note !== null,
    size: size !== null,
  };
}

/** Tells of archived deeds in a line; what is proved of them, where the verdict is valid. */
function archivedLine([from, to, proved], grade) {
  const shown = proved ? "proved by the tree of a checkpoint" : "no checkpoint vouches for them";
  return `deeds ${from} to ${to - 1}: archived${grade ? `; ${shown}` : ""}`;
}



// What a page of the Console does with the verifier: it checks the file of evidence of a deed
// against the keys that the same server publishes. `page.mjs` writes both into one file.
const evidenced = ["shape", "canonical", "signature", "key", "window", "manifest", "inclusion"];

/** Returns lines of whether something is right, and what. */
async function checks(path) {
  const read = async (from) => new Uint8Array(await (await fetch(from)).arrayBuffer());
  try {
    const keys = await readKeys(parse(fromUtf8(await read("/.well-known/service/keys.json"))));
    const { verdict, grade, checks: open } = await verify(await read(path), { keys });
    const failed = Object.keys(open).map((name) => [false, `${open[name]}: ${RULES.checks[name]}`]);
    const passed = evidenced.filter((name) => !(name in open)).map((name) => RULES.checks[name]);
    const right = verdict === "valid" ? passed.map((text) => [true, text]) : [];
    return [[verdict === "valid", grade ? `${verdict}: ${grade}` : verdict], ...failed, ...right];
  } catch {
    return [[false, "The file of evidence could not be read."]];
  }
}


export { checks };
