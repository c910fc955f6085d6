// Writes index.html: page.html with the verifier and its tables inside, which works from a disk;
// and the same verifier as a module for the pages of the Console, in web/assets/verify.js.
//
//     node page.mjs            writes both
//     node page.mjs --check    only tells whether both are as they would be written
import { readFileSync, writeFileSync } from "node:fs";

const at = (name) => new URL(name, import.meta.url);
const read = (name) => readFileSync(at(name), "utf8");
const table = (_, name, file) => `const ${name} = ${read(file).trim()};\n`;
const alone = (name) =>
  read(`${name}.mjs`)
    .replace(/^import (\w+) from "\.\/(\w+\.json)" with [^;]*;\n/gm, table)
    .replace(/^import [^;]*;\n/gm, "")
    .replace(/^export \{[^}]*\};\n/gm, "")
    .replace(/^\/\/ The command line\.\n[\s\S]*/m, "");
const modules = ["formats", "trees", "archives", "deeds", "intents", "logs", "verify"];
const inlined = modules.map(alone).join("\n");
const page = read("page.html").replace("/* modules */", () => inlined);
const written = {
  "index.html": page,
  "../../web/assets/verify.js": `${inlined}\n${alone("console")}\nexport { checks };\n`,
};

for (const [name, text] of Object.entries(written)) {
  if (!process.argv.includes("--check")) {
    writeFileSync(at(name), text);
  } else if (read(name) !== text) {
    console.error(`${name} is not what page.mjs writes: run \`node docs/verifiers/page.mjs\``);
    process.exitCode = 1;
  }
}
