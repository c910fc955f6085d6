// People at the Console in a real browser: `node drive.mjs CHROMIUM CASE`, where CASE is a file of
// where it is, whom it is for, what waits and where pictures go. Prints a line for each thing that
// was seen; the first thing that is otherwise ends it with a sentence.
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { Chromium, later } from "../chromium.mjs";

const [program, file] = process.argv.slice(2);
const { base, address, invite, email, outbox, pictures, libraries, waiting, agent, action, deed, policy, connectors, api, webhooks } =
  JSON.parse(readFileSync(file, "utf8"));
const PHONE = [390, 844];
const DESKTOP = [1440, 900];
const chromium = new Chromium(program, address);
mkdirSync(pictures, { recursive: true });
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
  holds((await phone.url()) === `${base}/app`, "who is invited joins, and the first page is the overview");
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
  await desktop.type("#note", "Twice the amount of the order.");
  await desktop.press("form.decide .primary");
  holds(/What you saw has changed/.test(await desktop.text()), "what was not shown is not decided");
  holds((await desktop.evaluate(`document.querySelector("#note").value`)) === "Twice the amount of the order.", "a note outlives the refusal of its answer");
  told("what changed meanwhile is not decided");
}

async function ends(phone, desktop) {
  await phone.goto(question(waiting[3]));
  await desktop.goto(`${base}/app/settings/sessions`);
  const turn = () => desktop.evaluate(`document.querySelector("[data-shortcuts] input").click()`);
  const asks = () => desktop.evaluate(`(() => {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true }));
    const help = document.querySelector("dialog");
    help?.close();
    return help !== null;
  })()`);
  await turn();
  holds(!(await asks()), "keys of one letter can be turned off");
  await turn();
  holds(await asks(), "and on again");
  await desktop.press("form[data-send$=revoke_others] button");
  await phone.press("form.decide .primary");
  holds((await phone.url()).startsWith(`${base}/login?next=`), "an ended session leads to the sign-in");
  told("a session that ended under an open page decides nothing");
}

const MARK = `document.querySelector("[data-live-mark]")`;
const isLive = `${MARK}?.hidden === false && ${MARK}.textContent === "Live"`;

/** Ten windows of one browser: over HTTP/1.1 a stream for each would leave the seventh without a page. */
async function shares(desktop) {
  const windows = [];
  for (let at = 0; at < 10; at += 1) {
    windows.push(await page({ beside: desktop }));
    await windows[at].goto(`${base}/app/${at % 2 ? "approvals" : "actions"}`);
  }
  for (const window of windows) await window.until(isLive);
  const streams = () => windows.flatMap((it) => it.asked).filter((url) => url.includes("/v1/events?"));
  holds(streams().length === 1, `ten windows have one stream: ${streams()}`);
  const [first, deciding, , list] = windows;
  const counts = (number) => `document.title.startsWith("(${number}) ") && !document.querySelector(".fresh").hidden`;
  const yes = async (id) => {
    await deciding.goto(question(id));
    await deciding.press("form.decide .primary");
    holds(/Approved/.test(await deciding.text()), "a yes beside nine windows counts");
  };
  await yes(waiting[4]);
  await list.until(counts(1));
  // Whoever listened is gone: another window goes on where it was.
  await first.close();
  for (let tries = 0; streams().length < 2; tries += 1) {
    holds(tries < 600, "another window takes over");
    await later(50);
  }
  holds(/last_event_id=\w+\.\d+$/.test(streams()[1]), `the other window resumes: ${streams()}`);
  await yes(waiting[5]);
  await list.until(counts(2));
  const offered = await list.evaluate(`document.querySelector(".fresh").textContent`);
  holds(offered === "2 new. Show them", `nothing was missed and nothing counted twice: ${offered}`);
  holds(streams().length === 2, `nine windows have one stream: ${streams()}`);
  for (const window of windows.slice(1)) await window.close();
  told("ten windows shared one stream, a call was approved beside them, and a second window took over");
}

/** A list that nobody looked at for a while does not pass for the newest. */
async function lives(desktop) {
  for (const room of ["approvals", "actions"]) {
    await desktop.goto(`${base}/app/${room}`);
    await desktop.until(isLive);
  }
  // The page goes on over streams and sessions that say what the test has them say.
  const seen = await desktop.evaluate(`(async () => {
    const made = [];
    Object.defineProperty(document, "hidden", { value: false, configurable: true });
    globalThis.EventSource = class extends EventTarget {
      static CLOSED = 2;
      constructor() { super(); this.readyState = 1; made.push(this); }
      close() { this.readyState = 2; }
    };
    const real = globalThis.fetch;
    let session = 200, stream = 200;
    globalThis.fetch = async (to, options) => {
      const status = to === "/v1/session" ? session : stream;
      return status === 200 ? real(to, options) : new Response("{}", { status });
    };
    const fresh = document.querySelector(".fresh");
    const until = async (is, what) => {
      for (let tries = 0; !is(); tries += 1) {
        if (tries > 3000) throw new Error(\`\${what}, not \${made.length} and \${${MARK}.textContent}\`);
        await new Promise((goesOn) => { setTimeout(goesOn, 10); });
      }
    };
    const opens = (number) => until(() => made.length === number && made.at(-1).readyState === 1, number);
    const reads = (text) => until(() => ${MARK}.textContent === text, text);
    const says = (kind, data) => made.at(-1).dispatchEvent(new MessageEvent(kind, { data: JSON.stringify(data) }));
    const looks = () => document.dispatchEvent(new Event("visibilitychange"));
    const comesBack = () => { dispatchEvent(new Event("pagehide")); looks(); };
    const seen = [];
    const notes = () => seen.push([made.length, fresh.hidden, ${MARK}.textContent].join(" "));
    comesBack();
    await opens(1);
    says("hello", { resumed: true });
    notes();
    made.at(-1).dispatchEvent(new Event("error"));
    notes();
    comesBack();
    await opens(2);
    says("hello", { resumed: true });
    notes();
    stream = 429;
    made.at(-1).close();
    made.at(-1).dispatchEvent(new Event("error"));
    await reads("Not live: too many browsers");
    notes();
    looks();
    await opens(3);
    says("hello", { resumed: false });
    notes();
    // The same person signed in again: the stream of the session before ends, and a new one opens.
    says("session_ended", { code: "unauthenticated" });
    await opens(4);
    session = 503;
    comesBack();
    await reads("Not live");
    notes();
    session = 401;
    looks();
    await reads("Signed out");
    looks();
    notes();
    // Another window of the same person is live: they are signed in again.
    session = 200;
    const channel = new BroadcastChannel(document.querySelector("script[src*=live]").src + " " + document.querySelector("[data-who]").dataset.who);
    channel.postMessage({ what: "stands", text: "Live", isLive: true, isAnew: true });
    await opens(5);
    says("hello", { resumed: true });
    notes();
    return seen.join(", ");
  })()`);
  const expected = [
    "1 true Live", "1 true Not live, retrying", "2 true Live", "2 true Not live: too many browsers",
    "3 false Live", "4 false Not live", "4 false Signed out", "5 false Live",
  ];
  holds(seen === expected.join(", "), `a list is live or says that it is not: ${seen}`);
  told("a list that was left is offered anew, and says when one is signed out");
}

/** What somebody typed stays on a page whose sign-in is no longer enough. */
async function keeps(desktop) {
  await desktop.goto(`${base}/app/webhooks`);
  await desktop.type("#url", "https://typed.example");
  await desktop.type("#types", "deed.sealed");
  const seen = await desktop.evaluate(`(async () => {
    const real = globalThis.fetch;
    const refusal = { error: { code: "reauthentication_required", message: "this takes a fresh sign-in" } };
    globalThis.fetch = async () => new Response(JSON.stringify(refusal), { status: 403 });
    const form = document.querySelector("form[data-send='POST /v1/webhook_endpoints']");
    const button = form.querySelector("button.primary");
    button.focus();
    form.requestSubmit(button);
    await new Promise((goesOn) => { setTimeout(goesOn, 100); });
    globalThis.fetch = real;
    const link = form.querySelector(".problem:not([hidden]) a");
    const is = [location.pathname, form.querySelector("#url").value, link?.target, link?.getAttribute("href")];
    return [...is, document.activeElement === button, button.hasAttribute("aria-disabled")].join(" ");
  })()`);
  const expected = "/app/webhooks https://typed.example _blank /app/again?next=%2Fapp%2Fwebhooks true false";
  holds(seen === expected, `a form that is refused stays as it was typed: ${seen}`);
  told("a form stayed as it was typed where its sign-in was too old");
}

async function checks(desktop) {
  await desktop.goto(`${base}/app/deeds/${deed}`);
  await desktop.evaluate(`document.querySelector("[data-verify]").click()`);
  await desktop.until(`document.querySelector(".verified li")`);
  const found = await desktop.evaluate(`document.querySelector(".verified li").textContent`);
  holds(found.startsWith("✓ valid"), `the deed is checked in the browser: ${found}`);
  told("a deed was checked in the browser");
}

async function connects(desktop) {
  await desktop.goto(`${base}/app/connectors?type=rest`);
  await desktop.type("#name", "zoo");
  await desktop.type("#config-base_url", api);
  const tool = { name: "list", title: "List", description: "Lists.", method: "GET", path: "/pets",
    args: { type: "object", additionalProperties: false, properties: {} } };
  await desktop.evaluate(`document.querySelector("#new ~ form details").open = true;
    document.querySelector("#config-auth").value = "none";
    document.querySelector("#config-tools").value = ${JSON.stringify(JSON.stringify([tool]))}`);
  await desktop.press("form[data-send='POST /v1/connectors'] button.primary");
  const made = await desktop.url();
  holds(made.startsWith(`${base}/app/connectors/con_`), `a connector is made by the form: ${made}`);
  holds((await desktop.text()).includes("zoo.list"), "its tool is accepted");
  holds((await desktop.text()).includes("Not tested yet."), "it is not tested yet");
  // The button in the head is the form's, which is elsewhere on the page.
  await desktop.press(".top button[form='run-checks']");
  const lines = await desktop.evaluate(`document.querySelector(".lines").textContent`);
  holds(lines.includes("✓ passed answers"), `it is checked line by line: ${lines}`);
  told("a connector was made by the form of its type, and checked");
  return made.slice(`${base}/app/connectors/`.length);
}

/** A tool whose name has slashes is reviewed on its own page, and accepted as it was found. */
async function accepts(desktop) {
  const tool = "pets.delete_/pets/_petId_";
  await desktop.goto(`${base}/app/connectors/${connectors[0]}`);
  await desktop.press(`a[href$='/tools/${encodeURIComponent(tool)}#accept']`);
  const asked = await desktop.text();
  holds(asked.includes(tool) && asked.includes("has changed since it was accepted"), `what changed is shown: ${asked}`);
  await desktop.press("form[data-send$='/pin'] button.primary");
  holds(!(await desktop.text()).includes("has changed since"), "the tool is accepted as it was found");
  told("a changed tool was reviewed and accepted");
}

async function hooks(desktop) {
  await desktop.goto(`${base}/app/webhooks`);
  await desktop.type("#url", `${api}/pets`);
  await desktop.type("#types", "webhook.*, deed.sealed");
  await desktop.evaluate(`document.querySelector("form[data-send='POST /v1/webhook_endpoints'] button.primary").click()`);
  await desktop.until(`document.querySelector(".once code, .problem:not([hidden])")`);
  const secret = await desktop.evaluate(`document.querySelector(".once code")?.textContent`);
  holds(secret?.startsWith("whsec_"), `the secret of an endpoint is shown once: ${await desktop.text()}`);
  await desktop.shot(join(pictures, "secret-1440-light.png"));
  await desktop.press(".once a");
  const made = await desktop.url();
  holds(made.startsWith(`${base}/app/webhooks/whe_`), `its page comes then: ${made}`);
  holds(!(await desktop.text()).includes(secret), "its page has the secret no more");
  await desktop.press("form[data-send$='/ping'] button");
  const pinged = new URL(await desktop.url()).searchParams.get("delivery");
  holds(pinged?.startsWith("whd_"), "a ping leads to its delivery");
  const tried = `document.querySelector("#delivery li.bad, #delivery li.yes") !== null`;
  for (let tries = 0; !(await desktop.evaluate(tried)); tries += 1) {
    holds(tries < 100, "the ping is tried");
    await later(100);
    await desktop.goto((await desktop.url()).split("#")[0]);
  }
  const { status } = await desktop.evaluate(`fetch("/v1/webhook_deliveries/${pinged}").then((it) => it.json())`);
  holds(status === "retrying", `the ping is refused and waits: ${status}`);
  await desktop.press("#delivery form button");
  holds(new URL(await desktop.url()).searchParams.get("delivery") === pinged, "what waits is sent now by its own retry");
  const sent = await desktop.evaluate(`fetch("/v1/webhook_deliveries/${pinged}").then((it) => it.json())`);
  holds(sent.attempt === 2 || new Date(sent.next_attempt_at) - new Date(sent.created_at) < 29_000, `its retry is brought forward: ${JSON.stringify(sent)}`);
  await desktop.evaluate(`document.querySelector("a[href='#recover']").click()`);
  await desktop.until(`document.querySelector("#recover").open`);
  await desktop.evaluate(`document.querySelector("#since").value = new Date(Date.now() - 3600_000).toISOString().slice(0, 19);
    document.querySelector("form[data-send$='/recover'] button").click()`);
  await desktop.until(`document.querySelector(".said:not([hidden]), .problem:not([hidden])")`);
  const said = await desktop.evaluate(`document.querySelector(".said").textContent`);
  holds(/^\d+ events are sent again\. \d+ retries are made now\.$/.test(said), `what was missed is recovered: ${said}`);
  told("an endpoint was made, pinged and recovered by its page, its secret shown once");
  return { id: made.slice(`${base}/app/webhooks/`.length), delivery: pinged };
}

async function writes(desktop) {
  const found = `document.querySelectorAll("[data-list=lint] li").length`;
  const lint = `document.querySelector("[data-status=lint]").textContent`;
  await desktop.goto(`${base}/app/policies/${policy}?tab=edit`);
  await desktop.until(`/No findings|can be saved/.test(${lint})`);
  const document = await desktop.evaluate(`document.querySelector("#document").value`);
  const put = (text) => desktop.evaluate(`(() => {
    const field = document.querySelector("#document");
    field.value = ${JSON.stringify(text)};
    field.dispatchEvent(new Event("input", { bubbles: true }));
  })()`);
  const lines = document.trimEnd().split("\n").length;
  await put(`${document.trimEnd()}\nnothing: 1\n`);
  await desktop.until(`/cannot be saved: 1 error/.test(${lint}) && ${found} > 0`);
  holds((await desktop.evaluate(`document.querySelector(".gutter .bad").textContent`)).trim() === `× ${lines + 1}`, "an error is marked at its line");
  await desktop.evaluate(`document.querySelector("[data-list=lint] .link").click()`);
  const chosen = `document.querySelector("#document").value.slice(document.querySelector("#document").selectionStart).split("\\n")[0]`;
  holds((await desktop.evaluate(chosen)) === "nothing: 1", "a finding leads to its line and column");
  await desktop.shot(join(pictures, "editor-error-1440-light.png"));
  await put(`${document.trimEnd()}\n# Looked at again.\n`);
  await desktop.until(`/No findings|can be saved/.test(${lint})`);
  await desktop.press("form.editor button.primary");
  const saved = await desktop.url();
  holds(/\?version=pv_/.test(saved), `a version is saved: ${saved}`);
  holds((await desktop.text()).includes("# Looked at again."), "its page shows what was written");
  told("a new version was written, its error shown at its line, and saved");
  await proves(desktop, saved);
}

/** The policy's tests are written, kept and run over a version. */
async function proves(desktop, saved) {
  await desktop.goto(`${saved.split("?")[0]}?tab=tests`);
  const suite = "now: 2026-10-01T12:00:00Z\nagents: { bot: {} }\ncalls: { note: { tool: lab.note, args: { mark: m } } }\ncases:\n"
    + "  - { name: notes are asked about, agent: bot, call: note, expect: { outcome: require_approval } }\n"
    + "  - { name: notes are denied, agent: bot, call: note, expect: { outcome: deny } }\n";
  const put = async (text) => {
    await desktop.evaluate(`document.querySelector("#suite").value = ${JSON.stringify(text)}`);
    await desktop.evaluate(`document.querySelector("form[data-send^='PUT /v1/policies/'] button.primary").click()`);
  };
  await put("cases: 1\n");
  await desktop.until(`!document.querySelector("form[data-send^='PUT'] .problem").hidden`);
  holds(await desktop.evaluate(`document.querySelector("#suite").value === "cases: 1\\n"`), "what was refused is still there");
  await desktop.leading(() => put(suite));
  holds((await desktop.text()).includes("2 tests; a version that fails one cannot be activated."), "the tests are kept");
  await desktop.evaluate(`document.querySelector("form[data-send='POST /v1/policies/test'] button").click()`);
  await desktop.until(`document.querySelectorAll("form[data-send='POST /v1/policies/test'] .lines li").length === 2`);
  const lines = await desktop.evaluate(`document.querySelector("form[data-send='POST /v1/policies/test'] .lines").textContent`);
  holds(lines.startsWith("✓ passed notes are asked about") && lines.includes("⊗ failed notes are denied: "), `each test is told: ${lines}`);
  told("the tests of a policy were written, kept and run");
}

async function leads(desktop) {
  await desktop.goto(`${base}/app`);
  const opens = async (text) => {
    await desktop.key("k", "KeyK", 2);
    await desktop.until(`document.querySelector("dialog.palette[open] li")`);
    if (text) await desktop.call("Input.insertText", { text });
  };
  await opens("");
  holds((await desktop.evaluate(`document.querySelectorAll(".palette li").length`)) > 8, "the palette has the rooms");
  await desktop.key("Escape");
  await desktop.until(`!document.querySelector("dialog")`);
  await opens("ledg");
  await desktop.leading(() => desktop.key("Enter"));
  holds((await desktop.url()) === `${base}/app/ledger`, "the palette leads to a room by keys alone");
  await opens("ask");
  await desktop.until(`[...document.querySelectorAll(".palette li small")].some((it) => it.textContent === "agent")`);
  await desktop.evaluate(readFileSync(createRequire(join(libraries, "x")).resolve("axe-core/axe.min.js"), "utf8"));
  const found = await desktop.evaluate(RUN);
  holds(found.length === 0, `the palette: ${found.join("; ")}`);
  await desktop.shot(join(pictures, "palette-1440-light.png"));
  await desktop.leading(() => desktop.key("Enter"));
  holds((await desktop.url()) === `${base}/app/agents/${agent}`, "the palette leads to an agent");
  await opens(action);
  await desktop.leading(() => desktop.key("Enter"));
  holds((await desktop.url()) === `${base}/app/actions/${action}`, "the palette leads to what an id names");
  const plain = await page({ beside: desktop });
  await plain.call("Emulation.setScriptExecutionDisabled", { value: true });
  await plain.goto(`${base}/app`);
  await plain.shown(PHONE, "light");
  holds(await plain.evaluate(`document.querySelector("[data-palette]").offsetParent === null`), "without script nothing of the palette shows");
  told("the palette led to a room, an agent and an id by keys alone");
}

/** Whoever has few colours, or paper, is told the same. */
async function plainly(desktop) {
  const line = (selector) => `(() => {
    const it = getComputedStyle(document.querySelector(${JSON.stringify(selector)}));
    return it.borderTopStyle !== "none" && parseFloat(it.borderTopWidth) >= 1;
  })()`;
  const hides = (selector) => `[...document.querySelectorAll(${JSON.stringify(selector)})].every((it) => getComputedStyle(it).display === "none" || it.closest("[hidden]"))`;
  for (const room of ["approvals", `actions/${action}`, "actions", `webhooks/${webhooks[0].id}`, `deeds/${deed}`]) {
    await desktop.goto(`${base}/app/${room}`);
    await desktop.shown(DESKTOP, "light");
    await desktop.rendered("", { "forced-colors": "active", "prefers-color-scheme": "dark" });
    holds(await desktop.evaluate(`matchMedia("(forced-colors: active)").matches`), "colours are forced");
    for (const selector of [".badge:not(.plain)", ".rail a[aria-current]"]) {
      const is = `document.querySelector(${JSON.stringify(selector)}) === null || ${line(selector)}`;
      holds(await desktop.evaluate(is), `${room}: \`${selector}\` has a border where colours are forced`);
    }
    // What is told by a badge is told by its word and its symbol.
    const bare = `[...document.querySelectorAll(".badge")].filter((it) => !it.textContent.trim()).length`;
    holds((await desktop.evaluate(bare)) === 0, `${room}: a badge has no word`);
    const name = room.replace(/_[0-9a-z]{26}/g, "").replace(/[^a-z]+/g, "-");
    await desktop.shot(join(pictures, `forced-${name}.png`));
    await desktop.rendered("print");
    for (const selector of [".rail", ".bottom", ".tools", "form.scripted", "button.copy"]) {
      holds(await desktop.evaluate(hides(selector)), `${room}: \`${selector}\` is on paper`);
    }
    holds((await desktop.evaluate(`document.querySelector("h1").getClientRects().length`)) > 0, `${room} has its head on paper`);
    const ground = await desktop.evaluate(`getComputedStyle(document.documentElement).colorScheme`);
    holds(ground === "light", `${room} is printed light: ${ground}`);
    await desktop.shot(join(pictures, `print-${name}.png`));
    const sheets = await desktop.sheets();
    holds(sheets >= 1 && sheets <= 6, `${room} is ${sheets} sheets of paper`);
    await desktop.rendered("");
  }
  told("with forced colours badges keep their borders and words; paper has what is read and no controls");
}

async function hides(desktop) {
  const address = `${base}/approve`;
  const link = `${address}?t=nothing`;
  await desktop.goto(link);
  holds((await desktop.url()) === address, "the link leaves the address bar");
  // The address alone shows nothing, and leads on to the link.
  await desktop.leadingTo(link, () => desktop.evaluate("location.reload()"));
  holds((await desktop.url()) === address, "the link leaves the address bar again");
  told("the link of a mail does not stay in the address bar, and its page can be loaded once more");
}

/** Rules that a page holds beside what axe looks at. */
const WIDE = "document.documentElement.scrollWidth > innerWidth";
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const RUN = `axe.run({ runOnly: ${JSON.stringify(tags)} }).then(({ violations }) =>
  violations.map((it) => it.id + ": " + it.nodes.map((node) => node.target.join(" ")).join(", ")))`;

async function looks(desktop) {
  const axe = readFileSync(createRequire(join(libraries, "x")).resolve("axe-core/axe.min.js"), "utf8");
  const rooms = ["approvals", `approvals/${waiting[0]}`, `approvals/${waiting[3]}`, "actions", "actions?level=L0", "actions?created_at%5Blt%5D=yesterday&cursor=old", `actions/${action}`, "approvals?view=decided&tool=lab.*",
    "agents", `agents/${agent}`, `agents/${agent}/stop`, "stop", "policies", `policies/${policy}`,
    ...["edit", "versions", "tests", "try", "activate"].map((tab) => `policies/${policy}?tab=${tab}`),
    "connectors", "connectors?type=postgres", "connectors?type=rest", ...connectors.map((id) => `connectors/${id}`),
    `connectors/${connectors[0]}/tools/pets.getPet`, `connectors/${connectors[0]}/tools/pets.delete_%2Fpets%2F_petId_`,
    "webhooks", ...webhooks.flatMap((it) => [`webhooks/${it.id}`, `webhooks/${it.id}?delivery=${it.delivery}`]),
    "ledger", `deeds/${deed}`, "settings", "settings/members", "settings/keys", "settings/sessions", "more", "nothing"];
  const paths = ["/login", "/auth/confirm?challenge=chal_01k6ga3wvwee7g9h2j4k6m8n0p", "/approve?t=nothing",
    ...rooms.map((room) => `/app/${room}`), "/app", "/app?window=7d"];
  // Ids differ from run to run, names of pictures do not.
  const named = (path) => {
    const words = path.replace(/_[0-9a-z]{26}/g, "").replace(/[^a-z]+/g, "-").replace(/^-|-$/g, "");
    return `${String(paths.indexOf(path)).padStart(2, "0")}-${words}`;
  };
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
  await shares(desktop);
  await lives(desktop);
  await keeps(desktop);
  await checks(desktop);
  await accepts(desktop);
  connectors.push(await connects(desktop));
  webhooks.push(await hooks(desktop));
  await writes(desktop);
  await plainly(desktop);
  await hides(desktop);
  await looks(desktop);
  await leads(desktop);
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
