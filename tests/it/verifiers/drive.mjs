// Asks the JavaScript verifier about every case of a file: `drive.mjs CASES`, one JSON object a line.
// Prints verdict, grade, failing checks, intents not shown and archived deeds of each; the verdict `keys` where the key set is refused.
import { readFileSync } from "node:fs";
import { fromUtf8, parse, readKeys } from "../../../docs/verifiers/formats.mjs";
import { verify } from "../../../docs/verifiers/verify.mjs";

async function judged({ input, keys, note, size }) {
  let trusted = null;
  try {
    if (keys !== null) trusted = await readKeys(parse(fromUtf8(Buffer.from(keys, "base64"))));
  } catch {
    return { verdict: "keys", grade: null, checks: [], not_shown: [], archived: [] };
  }
  const trust = { keys: trusted, note, size };
  const told = await verify(Buffer.from(input, "base64"), trust);
  const { verdict, grade, checks, hidden, archived } = told;
  return { verdict, grade, checks: Object.keys(checks), not_shown: hidden, archived };
}

for (const line of readFileSync(process.argv[2], "utf8").trimEnd().split("\n")) {
  console.log(JSON.stringify(await judged(JSON.parse(line))));
}
