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
