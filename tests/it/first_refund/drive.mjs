// Somebody new opens the demo: `node drive.mjs CHROMIUM CASE`, where CASE is a file of the link that it
// printed, whose mails lie where, and the agent's key. Prints the steps from the link to the approved call;
// ends with a sentence at the first thing that is otherwise.
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { Chromium, later } from "../chromium.mjs";

const [program, file] = process.argv.slice(2);
const { link, email, outbox, key, libraries } = JSON.parse(readFileSync(file, "utf8"));
const base = new URL(link).origin;
const chromium = new Chromium(program);
const page = await chromium.page();
await page.shown([1440, 900], "light");

const holds = async (what, sentence) => {
  if (!what) throw new Error(`${sentence}: ${await page.text()}`);
};
const text = async (told, sentence) => holds((await page.text()).includes(told), `${sentence}: ${told}`);
const count = (selector) => page.evaluate(`document.querySelectorAll(${JSON.stringify(selector)}).length`);
const GREEN = ".badge.ok, .verdict-panel.ok";

/** The code of the one mail about a sign-in. */
async function code() {
  for (let tries = 0; tries < 600; tries += 1) {
    const letters = readdirSync(outbox).filter((name) => name.endsWith(".eml"));
    const texts = letters.map((name) => readFileSync(join(outbox, name), "utf8"));
    const letter = texts.find((text) => text.includes("/auth/confirm?t="));
    if (letter) return letter.match(/\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/)[0];
    await later(50);
  }
  throw new Error("no mail came");
}

/** Sends a call as the agent and returns its action. */
async function call(tool, args) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ tool, args, mode: "gateway", wait: 0 });
  return (await fetch(`${base}/v1/actions`, { method: "POST", headers, body })).json();
}

const axe = readFileSync(createRequire(join(libraries, "x")).resolve("axe-core/axe.min.js"), "utf8");
const RUN = `axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then(
  ({ violations }) => violations.map((it) => it.id + ": " + it.nodes.map((node) => node.target.join(" ")).join(", ")))`;

/** The page can be read by all, on a desktop and a phone, in both schemes. */
async function readable(name) {
  await page.evaluate(axe);
  for (const size of [[390, 844], [1440, 900]]) {
    for (const scheme of ["dark", "light"]) {
      await page.shown(size, scheme);
      const found = await page.evaluate(RUN);
      await holds(found.length === 0, `${name} at ${size[0]} in ${scheme}: ${found.join("; ")}`);
      const wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
      await holds(!wide, `${name} at ${size[0]} is wider than the screen`);
    }
  }
}

// What the person does from the link to the approved call, and how long the pages took for it.
const steps = [];
let pagesTook = 0;
async function step(name, does) {
  const began = performance.now();
  await does();
  pagesTook += performance.now() - began;
  steps.push(name);
}

await step("open the link", () => page.goto(link));
await holds((await page.evaluate(`document.querySelector("#email").value`)) === email, "the link carries the address");
await readable("the sign-in of somebody who is invited");
await step("ask for the code", () => page.press("main button"));
const typed = await code();
await holds(await page.evaluate(`document.activeElement.id === "code"`), "the code can be typed at once");
await step("type the code", async () => {
  await page.type("#code", typed);
  await page.press("main button");
});
const question = await page.url();
await holds(question.startsWith(`${base}/app/approvals/apr_`), `the refund comes behind the sign-in, not ${question}`);
await text("1 row of refunds would be added: 20.00 of 22.52", "the estimate is a sentence");
const foreseen = await page.evaluate(`document.querySelector("table.diff").innerText`);
for (const told of ["Now", "After", "refunds", "new row", "amount", "20.00", "order_id"]) {
  await holds(foreseen.includes(told), `the estimate is a table with ${told}`);
}
const estimate = (await page.text()).split("What it would change")[1].split("Who decides")[0];
await holds(!/\b\d+\.[a-z_]/i.test(estimate), `no name of the estimate is an index: ${estimate}`);
await readable("the question");
await step("approve", () => page.press("form.decide .primary"));
await text("Approved", "the refund is approved");
await holds(steps.length === 4, `four steps: ${steps}`);
console.log(`typed ${typed}\n${steps.length} steps (${steps.join(", ")}), pages ${Math.round(pagesTook)} ms`);

const action = await page.evaluate(`document.querySelector('a[href^="/app/actions/act_"]').href`);
await page.goto(action);
for (let tries = 0; !(await page.text()).includes("Sealed as deed"); tries += 1) {
  await holds(tries < 200, "the call is sealed");
  await later(100);
  await page.goto(action);
}
await text("1 row changed. The database committed what was reported and nothing else.", "the finding");
await holds((await count(".verdict-panel.ok")) === 1, "what the change log agrees with is green");
const rows = await page.evaluate(`document.querySelector(".verdict-panel table.diff").innerText`);
for (const told of ["Before", "After", "public.refunds", "new row", "20.00", "Two of three lamps"]) {
  await holds(rows.includes(told), `the row is shown with ${told}`);
}

await readable("a call that was checked");

// The same again is more than is left: it waits, and what it comes to is said before and after.
const more = await call("shop.refunds.create", { order: 2, amount: 20, reason: "Once more." });
await page.goto(`${base}/app/approvals/${more.approval.id}`);
await text("No row of refunds would be added: 20.00 of 22.52, 20.00 of it refunded before; that is more than is left", "too much");
await page.press("form.decide .primary");
const nothing = `${base}/app/actions/${more.id}`;
await page.goto(nothing);
for (let tries = 0; !(await page.text()).includes("Sealed as deed"); tries += 1) {
  await holds(tries < 200, "the call is sealed");
  await later(100);
  await page.goto(nothing);
}
await text("Changed nothing", "no row was changed");
await text("The tool returned null.", "an answer that is null is drawn");
await holds((await count(".verdict-panel.ok, .judged .badge.ok")) === 0, "nothing was changed, and nothing is green");
await readable("a call that changed nothing");

// The link of whoever is signed in asks nothing, and what waits is on the first page.
const third = await call("shop.refunds.create", { order: 3, amount: 20, reason: "One more." });
await page.goto(`${base}/login?email=${email}&next=/app/approvals/${third.approval.id}`);
await holds((await page.url()) === `${base}/app/approvals/${third.approval.id}`, "whoever is signed in goes straight on");
await page.goto(`${base}/`);
await holds((await page.url()) === `${base}/app`, "the root leads to the Console");
await text("shop.refunds.create waits for approval.", "what waits needs attention");
await holds(await count(`.attention a.primary[href="/app/approvals/${third.approval.id}"]`), "and is one press away");

await text("Checked", "the overview counts what was checked");
await holds(/\d+ only reported/.test(await page.text()), "and says how many were only reported");
await holds(!(await page.text()).includes("Verified"), "the overview calls nothing verified");

// Reads are the tool's own word.
await page.goto(`${base}/app/actions?tool=shop.orders.read`);
await text("Reported", "a read is reported");
await holds((await count(GREEN)) === 0, "and nothing about it is green");
await holds(page.complaints.length === 0, `no complaint: ${page.complaints}`);
process.exit(0);
