// People at the Console in a real browser: `node drive.mjs CHROMIUM CASE`, where CASE is a file of
// where it is, whom it is for, what waits and where pictures go. Prints a line for each thing that
// was seen; the first thing that is otherwise ends it with a sentence.
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { Chromium, later } from "../chromium.mjs";

const [program, file] = process.argv.slice(2);
const { base, address, invite, email, outbox, pictures, libraries, waiting, agent, action, deed, policy } =
  JSON.parse(readFileSync(file, "utf8"));
const PHONE = [390, 844];
const DESKTOP = [1440, 900];
const chromium = new Chromium(program, address);
const pages = [];
const page = async (...of) => {
  const made = await chromium.page(...of);
  pages.push(made);
  return made;
};
const told = (seen) => console.log(JSON.stringify(seen));
const holds = (is, sentence) => {
  if (!is) throw new Error(sentence);
};

/** The mail that came last and was not read yet. */
const read = new Set();
async function mail() {
  for (let tries = 0; tries < 600; tries += 1) {
    const letters = readdirSync(outbox).filter((name) => name.endsWith(".eml") && !read.has(name));
    for (const name of letters) {
      const text = readFileSync(join(outbox, name), "utf8");
      if (!text.includes(`To: ${email}`) || !text.includes("/auth/confirm?t=")) continue;
      read.add(name);
      return text;
    }
    await later(50);
  }
  throw new Error("no mail came");
}

async function byCode() {
  const phone = await page();
  await phone.shown(PHONE, "light");
  await phone.call("Emulation.setScriptExecutionDisabled", { value: true });
  await phone.goto(`${base}/login?invite=${invite}`);
  await phone.type("#email", email);
  await phone.press("main button");
  const code = (await mail()).match(/\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/)[0];
  await phone.type("#code", "0000-0000");
  await phone.press("main button");
  holds((await phone.text()).includes("That is not the code."), "a wrong code is told");
  await phone.type("#code", code.toLowerCase().replace("-", " "));
  await phone.press("main button");
  holds((await phone.url()).startsWith(`${base}/app/join?`), "the invitation waits behind the sign-in");
  await phone.press("main button");
  await phone.press("main button.tall");
  holds((await phone.url()) === `${base}/app`, "the first page is the overview");
  told("signed in by the code, on a phone, without script");
  return phone;
}

async function byLink() {
  const desktop = await page();
  await desktop.shown(DESKTOP, "light");
  await desktop.goto(`${base}/login?next=/app/actions`);
  await desktop.type("#email", email);
  await desktop.press("main button");
  const link = (await mail()).match(/http\S+\/auth\/confirm\?t=\S+/)[0];
  const elsewhere = await page();
  await elsewhere.goto(link);
  holds((await elsewhere.text()).includes("Type this code"), "another browser is shown the code alone");
  await desktop.goto(link);
  await desktop.press("main button");
  holds((await desktop.url()) === `${base}/app/actions`, "the page that was wanted comes");
  told("signed in by the link, on a desktop");
  return desktop;
}

const question = (id) => `${base}/app/approvals/${id}`;

async function decides(phone, desktop) {
  const [first, second, third, fourth] = waiting;
  await phone.goto(question(first));
  await phone.press("form.decide .primary");
  holds(/Approved/.test(await phone.text()), "a yes on a phone without script counts");
  told("approved on a phone, without script");

  await desktop.goto(question(second));
  const focused = `document.activeElement?.textContent.trim()`;
  for (let tabs = 0; (await desktop.evaluate(focused)) !== "Deny"; tabs += 1) {
    holds(tabs < 60, "the keyboard reaches the answer");
    await desktop.key("Tab");
  }
  await desktop.leading(() => desktop.key("Enter"));
  holds(/Denied/.test(await desktop.text()), "a no by the keyboard counts");
  told("denied on a desktop, by keyboard alone");

  await Promise.all([phone.goto(question(third)), desktop.goto(question(third))]);
  await Promise.all([phone.press("form.decide .primary"), desktop.press("form.decide .primary")]);
  const both = [await phone.url(), await desktop.url()];
  const late = both.filter((url) => /problem=(approval_decided|conflict)/.test(url));
  holds(late.length === 1, `one of two is told that it came late: ${both}`);
  told("two browsers decided at once: one did, the other was told");

  await desktop.goto(question(fourth));
  await desktop.evaluate(`document.querySelector("[name=context_digest]").value = "sha256:${"0".repeat(64)}"`);
  await desktop.press("form.decide .primary");
  holds(/What you saw has changed/.test(await desktop.text()), "what was not shown is not decided");
  told("what changed meanwhile is not decided");
}

async function ends(phone, desktop) {
  await phone.goto(question(waiting[3]));
  await desktop.goto(`${base}/app/settings/sessions`);
  await desktop.press("form[data-send$=revoke_others] button");
  await phone.press("form.decide .primary");
  holds((await phone.url()).startsWith(`${base}/login?next=`), "an ended session leads to the sign-in");
  told("a session that ended under an open page decides nothing");
}

async function checks(desktop) {
  await desktop.goto(`${base}/app/deeds/${deed}`);
  await desktop.evaluate(`document.querySelector("[data-verify]").click()`);
  await desktop.until(`document.querySelector(".verified li")`);
  const found = await desktop.evaluate(`document.querySelector(".verified li").textContent`);
  holds(found.startsWith("✓ valid"), `the deed is checked in the browser: ${found}`);
  told("a deed was checked in the browser");
}

/** Rules that a page holds beside what axe looks at. */
const WIDE = "document.documentElement.scrollWidth > innerWidth";
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const RUN = `axe.run({ runOnly: ${JSON.stringify(tags)} }).then(({ violations }) =>
  violations.map((it) => it.id + ": " + it.nodes.map((node) => node.target.join(" ")).join(", ")))`;

async function looks(desktop) {
  const axe = readFileSync(createRequire(join(libraries, "x")).resolve("axe-core/axe.min.js"), "utf8");
  const rooms = ["approvals", `approvals/${waiting[0]}`, `approvals/${waiting[3]}`, "actions", `actions/${action}`,
    "agents", `agents/${agent}`, `agents/${agent}/stop`, "stop", "policies", `policies/${policy}`,
    ...["versions", "tests", "try", "activate"].map((tab) => `policies/${policy}?tab=${tab}`),
    "ledger", `deeds/${deed}`, "settings", "settings/members", "settings/keys", "settings/sessions", "more", "nothing"];
  const paths = ["/login", "/auth/confirm?challenge=chal_01k6ga3wvwee7g9h2j4k6m8n0p", "/approve?t=nothing",
    ...rooms.map((room) => `/app/${room}`), "/app", "/app?window=7d"];
  // Ids differ from run to run, names of pictures do not.
  const named = (path) => {
    const words = path.replace(/_[0-9a-z]{26}/g, "").replace(/[^a-z]+/g, "-").replace(/^-|-$/g, "");
    return `${String(paths.indexOf(path)).padStart(2, "0")}-${words}`;
  };
  mkdirSync(pictures, { recursive: true });
  for (const path of paths) {
    await desktop.goto(base + path);
    await desktop.evaluate(axe);
    for (const size of [DESKTOP, PHONE]) {
      for (const scheme of ["light", "dark"]) {
        await desktop.shown(size, scheme);
        const where = `${path} at ${size[0]} in ${scheme}`;
        const found = await desktop.evaluate(RUN);
        holds(found.length === 0, `${where}: ${found.join("; ")}`);
        holds(!(await desktop.evaluate(WIDE)), `${where} is wider than the screen`);
        await desktop.shot(join(pictures, `${named(path)}-${size[0]}-${scheme}.png`));
      }
    }
  }
  told({ pages: paths.length, violations: 0 });
}

try {
  const phone = await byCode();
  const desktop = await byLink();
  await decides(phone, desktop);
  await ends(phone, desktop);
  await checks(desktop);
  await looks(desktop);
  const away = pages.flatMap((it) => it.asked).filter((url) => !url.startsWith(`${base}/`) && !/^(data|about):/.test(url));
  holds(away.length === 0, `asked elsewhere: ${away}`);
  const complaints = pages.flatMap((it) => it.complaints);
  holds(complaints.length === 0, `the browser complained: ${complaints}`);
  told("nothing was asked of anybody else, and nothing refused by the policy of content");
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
process.exit();
