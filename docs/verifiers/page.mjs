// Writes index.html: page.html with the verifier and its tables inside, which works from a disk.
//
//     node page.mjs            writes it
//     node page.mjs --check    only tells whether it is as it would be written
import { readFileSync, writeFileSync } from "node:fs";

const at = (name) => new URL(name, import.meta.url);
const read = (name) => readFileSync(at(name), "utf8");
const table = (_, name, file) => `const ${name} = ${read(file).trim()};\n`;
const inlined = ["formats", "deeds", "intents", "logs", "verify"].map((name) =>
  read(`${name}.mjs`)
    .replace(/^import (\w+) from "\.\/(\w+\.json)" with [^;]*;\n/gm, table)
    .replace(/^import [^;]*;\n/gm, "")
    .replace(/^export \{[^}]*\};\n/gm, "")
    .replace(/^\/\/ The command line\.\n[\s\S]*/m, ""),
);
const page = read("page.html").replace("/* modules */", () => inlined.join("\n"));

if (!process.argv.includes("--check")) {
  writeFileSync(at("index.html"), page);
} else if (read("index.html") !== page) {
  console.error("index.html is not what page.mjs writes: run `node docs/verifiers/page.mjs`");
  process.exitCode = 1;
}
