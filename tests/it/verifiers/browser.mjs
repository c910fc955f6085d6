// Drives the page in a real browser: `node browser.mjs CHROMIUM PAGE CASES`, where CASES is a file
// with one {file, keys, note, size} of paths a line. Prints what the page shows for each, and as
// the last line every address that the browser asked for.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [browser, page, cases] = process.argv.slice(2);
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "about:blank"];
const chromium = spawn(browser, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
process.on("exit", () => chromium.kill());
const [input, output] = chromium.stdio.slice(3);
const waiting = new Map();
const asked = new Set();
let loaded = () => {};
let kept = Buffer.alloc(0);
output.on("data", (chunk) => {
  kept = Buffer.concat([kept, chunk]);
  for (let end = kept.indexOf(0); end >= 0; end = kept.indexOf(0)) {
    const message = JSON.parse(kept.subarray(0, end).toString());
    kept = kept.subarray(end + 1);
    if (message.method === "Network.requestWillBeSent") asked.add(message.params.request.url);
    if (message.method === "Page.loadEventFired") loaded();
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  }
});

let last = 0;
let session;
function call(method, params = {}) {
  const id = ++last;
  input.write(JSON.stringify({ id, method, params, sessionId: session }) + "\0");
  return new Promise((resolve, reject) => {
    waiting.set(id, ({ result, error }) => (error ? reject(new Error(`${method}: ${error.message}`)) : resolve(result)));
  });
}

async function evaluate(expression) {
  const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}

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

async function show({ size, ...files }) {
  const load = new Promise((resolve) => (loaded = resolve));
  await call("Page.navigate", { url: pathToFileURL(page).href });
  await load;
  const { root } = await call("DOM.getDocument");
  for (const [name, path] of Object.entries(files)) {
    if (path === null) continue;
    const { nodeId } = await call("DOM.querySelector", { nodeId: root.nodeId, selector: `#${name}` });
    await call("DOM.setFileInputFiles", { nodeId, files: [path] });
  }
  if (size !== null) await evaluate(`document.getElementById("size").value = ${size}`);
  return evaluate(SHOWN);
}

const { targetId } = await call("Target.createTarget", { url: "about:blank" });
session = (await call("Target.attachToTarget", { targetId, flatten: true })).sessionId;
for (const domain of ["Page", "Network", "DOM", "Runtime"]) await call(`${domain}.enable`);
for (const line of readFileSync(cases, "utf8").trimEnd().split("\n")) {
  console.log(JSON.stringify(await show(JSON.parse(line))));
}
console.log(JSON.stringify([...asked]));
process.exit();
