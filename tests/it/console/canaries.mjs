// Visits pages in a real browser: `node canaries.mjs CHROMIUM CASE`, where CASE is a file of where
// they are and of the session that sees them. Prints how many were visited; a page in which something
// that an agent wrote has become an element, or has run, ends it with a sentence.
import { readFileSync } from "node:fs";

import { Chromium } from "../chromium.mjs";

const [program, file] = process.argv.slice(2);
const { base, address, cookie, paths } = JSON.parse(readFileSync(file, "utf8"));
const chromium = new Chromium(program, address);
const holds = (is, sentence) => {
  if (!is) throw new Error(sentence);
};

try {
  const page = await chromium.page();
  await page.call("Network.setCookie", { ...cookie, url: base });
  for (const path of paths) {
    await page.goto(base + path);
    await page.evaluate(`for (const it of document.querySelectorAll("details")) it.open = true`);
    const found = await page.evaluate(`document.querySelectorAll("[data-canary], svg[onload], [onerror]").length`);
    holds(found === 0, `${path}: ${found} elements of what an agent wrote`);
    const title = await page.evaluate("document.title");
    holds(title !== "ran", `${path}: what an agent wrote has run`);
  }
  holds(!(await page.url()).includes("/login"), "the session sees the last page");
  const away = page.asked.filter((url) => !url.startsWith(`${base}/`) && !/^(data|about):/.test(url));
  holds(away.length === 0, `asked elsewhere: ${away}`);
  holds(page.complaints.length === 0, `the browser complained: ${page.complaints}`);
  console.log(JSON.stringify({ visited: paths.length }));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
process.exit();
