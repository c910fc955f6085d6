// Drives the page in a real browser: `node browser.mjs CHROMIUM PAGE CASES`, where CASES is a file
// with one {file, keys, note, size} of paths a line. Prints what the page shows for each, and as
// the last line every address that the browser asked for.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { Chromium } from "../chromium.mjs";

const [browser, page, cases] = process.argv.slice(2);

const SHOWN = `new Promise((resolve) => {
  const result = document.getElementById("result");
  const shown = () => result.querySelector("ul") && resolve({
    verdict: result.dataset.verdict,
    title: result.querySelector("strong").textContent,
    told: [...result.querySelectorAll("p")].map((line) => line.textContent),
    checks: [...result.querySelectorAll("ul li")].map((item) => item.textContent.split(" ")[0]),
  });
  new MutationObserver(shown).observe(result, { childList: true });
  document.querySelector("button").click();
})`;

async function show(tab, { size, ...files }) {
  await tab.goto(pathToFileURL(page).href);
  const { root } = await tab.call("DOM.getDocument");
  for (const [name, path] of Object.entries(files)) {
    if (path === null) continue;
    const { nodeId } = await tab.call("DOM.querySelector", { nodeId: root.nodeId, selector: `#${name}` });
    await tab.call("DOM.setFileInputFiles", { nodeId, files: [path] });
  }
  if (size !== null) await tab.evaluate(`document.getElementById("size").value = ${size}`);
  return tab.evaluate(SHOWN);
}

const tab = await new Chromium(browser).page();
for (const line of readFileSync(cases, "utf8").trimEnd().split("\n")) {
  console.log(JSON.stringify(await show(tab, JSON.parse(line))));
}
console.log(JSON.stringify([...new Set(tab.asked)]));
process.exit();
