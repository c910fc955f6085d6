// A real browser for tests, driven over its own pipe: contexts that share nothing, pages in them,
// and what each page asked for and complained about.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";

const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "about:blank"];
/** How long a page may take to be there. */
const PATIENCE = 30_000;

export const later = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export class Chromium {
  #waiting = new Map();
  #heard = new Map();
  #last = 0;

  /** With an address, every name leads there. */
  constructor(program, address = null) {
    const leads = address === null ? [] : [`--host-resolver-rules=MAP * ${address}`];
    this.process = spawn(program, [...leads, ...flags], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    process.on("exit", () => this.process.kill());
    const [input, output] = this.process.stdio.slice(3);
    this.input = input;
    let kept = Buffer.alloc(0);
    output.on("data", (chunk) => {
      kept = Buffer.concat([kept, chunk]);
      for (let end = kept.indexOf(0); end >= 0; end = kept.indexOf(0)) {
        this.#take(JSON.parse(kept.subarray(0, end).toString()));
        kept = kept.subarray(end + 1);
      }
    });
  }

  #take(message) {
    if (message.method) this.#heard.get(message.sessionId)?.(message);
    this.#waiting.get(message.id)?.(message);
    this.#waiting.delete(message.id);
  }

  call(method, params = {}, sessionId = undefined) {
    const id = ++this.#last;
    this.input.write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) =>
        error ? reject(new Error(`${method}: ${error.message}`)) : resolve(result));
    });
  }

  /** A page in a context of its own, or in that of another page. */
  async page({ beside } = {}) {
    const browserContextId =
      beside?.context ?? (await this.call("Target.createBrowserContext")).browserContextId;
    const { targetId } = await this.call("Target.createTarget", { url: "about:blank", browserContextId });
    const { sessionId } = await this.call("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, browserContextId, targetId);
    this.#heard.set(sessionId, (message) => page.hear(message));
    for (const domain of ["Page", "Network", "DOM", "Runtime", "Log"]) await page.call(`${domain}.enable`);
    await page.call("Page.setLifecycleEventsEnabled", { enabled: true });
    return page;
  }
}

export class Page {
  asked = [];
  complaints = [];
  loaded = new Set();
  documents = [];

  constructor(browser, session, context, target) {
    Object.assign(this, { browser, session, context, target });
  }

  /** Closes the window, as somebody does who is done with it. */
  close() {
    return this.browser.call("Target.closeTarget", { targetId: this.target });
  }

  hear({ method, params }) {
    if (method === "Network.requestWillBeSent") this.asked.push(params.request.url);
    if (method === "Network.requestWillBeSent" && params.type === "Document") {
      this.documents.push({ url: params.request.url, loader: params.loaderId });
    }
    if (method === "Page.lifecycleEvent" && params.name === "load") this.loaded.add(params.loaderId);
    if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.text);
    if (method === "Log.entryAdded" && params.entry.source === "security") this.complaints.push(params.entry.text);
    if (method === "Page.javascriptDialogOpening") this.call("Page.handleJavaScriptDialog", { accept: true });
  }

  call(method, params = {}) {
    return this.browser.call(method, params, this.session);
  }

  async evaluate(expression) {
    const asked = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await this.call("Runtime.evaluate", asked);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async #waits(is, what) {
    for (let waited = 0; !is(); waited += 20) {
      if (waited > PATIENCE) throw new Error(`no page came after ${what}`);
      await later(20);
    }
  }

  /** Does something, and waits until the page that comes of it is there. */
  async leading(doing) {
    const before = this.loaded.size;
    const from = await this.url();
    await doing();
    await this.#waits(() => this.loaded.size > before, from);
  }

  /** Does something, and waits until this page is there, also where another leads on to it. */
  async leadingTo(url, doing) {
    const before = this.documents.length;
    await doing();
    const is = (it) => it.url === url && this.loaded.has(it.loader);
    await this.#waits(() => this.documents.slice(before).some(is), url);
  }

  async goto(url) {
    const { loaderId } = await this.call("Page.navigate", { url });
    await this.#waits(() => this.loaded.has(loaderId), url);
  }

  url() {
    return this.evaluate("location.href");
  }

  text() {
    return this.evaluate("document.body.innerText");
  }

  /** Waits until this is so. */
  async until(expression) {
    for (let waited = 0; !(await this.evaluate(expression)); waited += 50) {
      if (waited > PATIENCE) throw new Error(`not so at ${await this.url()}: ${expression}`);
      await later(50);
    }
  }

  /** Calls this method of the one element that is meant. */
  async #does(selector, method) {
    const it = `document.querySelector(${JSON.stringify(selector)})`;
    if (!(await this.evaluate(`${it} !== null`))) {
      throw new Error(`no \`${selector}\` at ${await this.url()}: ${await this.text()}`);
    }
    await this.evaluate(`${it}.${method}()`);
  }

  async type(selector, text) {
    await this.#does(selector, "focus");
    await this.call("Input.insertText", { text });
  }

  press(selector) {
    return this.leading(() => this.#does(selector, "click"));
  }

  /** Presses a key, and with it those that the bits of `modifiers` stand for, of which 2 is Ctrl. */
  async key(key, code = key, modifiers = 0) {
    const numbers = { Tab: 9, Enter: 13, Escape: 27, ArrowUp: 38, ArrowDown: 40, k: 75 };
    const sent = { key, code, modifiers, windowsVirtualKeyCode: numbers[key], text: key === "Enter" ? "\r" : undefined };
    await this.call("Input.dispatchKeyEvent", { type: "keyDown", ...sent });
    await this.call("Input.dispatchKeyEvent", { type: "keyUp", ...sent });
  }

  /** As this wide, and in this scheme. */
  async shown([width, height], scheme) {
    await this.call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    const features = [{ name: "prefers-color-scheme", value: scheme }];
    await this.call("Emulation.setEmulatedMedia", { features });
  }

  /** As paper has it, or in the few colours that somebody chose for all pages; or as before. */
  async rendered(media, features = {}) {
    const listed = Object.entries(features).map(([name, value]) => ({ name, value }));
    await this.call("Emulation.setEmulatedMedia", { media, features: listed });
  }

  /** How many sheets of paper the page is. */
  async sheets() {
    const { data } = await this.call("Page.printToPDF", { preferCSSPageSize: true });
    const paper = Buffer.from(data, "base64").toString("latin1");
    return paper.match(/\/Type\s*\/Page\b/g).length;
  }

  async shot(path) {
    const { data } = await this.call("Page.captureScreenshot", { format: "png" });
    writeFileSync(path, Buffer.from(data, "base64"));
  }
}
