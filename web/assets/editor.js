// The editor of a policy's document: while somebody types, the findings of the lint are shown at their
// lines and the policy's tests run. Nothing is stored before the form is sent.

/** The time without typing after which the document is checked, in milliseconds. */
const REST = 400;
/** The service checks one document of an org at a time; a request in the meantime is retried. */
const AGAIN = 1000;
const ASKS = 8;

const form = document.querySelector("[data-editor]");
const field = form?.querySelector("[name=document]");
const gutter = form?.querySelector(".gutter");
const status = (name, text) => { form.querySelector(`[data-status=${name}]`).textContent = text; };
const list = (name) => form.querySelector(`[data-list=${name}]`);
const later = (time) => new Promise((done) => { setTimeout(done, time); });
const make = (name, text, attributes = {}) => Object.assign(document.createElement(name), { textContent: text }, attributes);
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
const seen = (text) => text.replace(UNSEEN, (letter) => `⟦U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟧`);
const badge = (severity) => form.querySelector(`[data-badge=${severity}]`)?.content.cloneNode(true) ?? make("strong", severity);

/** The numbers of the lines, those that something was found in with a mark. */
const numbers = (found) => {
  const marks = new Map();
  for (const { line, severity } of found) if (marks.get(line) !== "error") marks.set(line, severity);
  const lines = field.value.split("\n").length;
  const parts = [];
  let plain = "";
  for (let line = 1; line <= lines; line += 1) {
    if (marks.has(line)) {
      const is = marks.get(line) === "error";
      parts.push(plain, make("span", `${is ? "×" : "!"} ${line}\n`, { className: is ? "bad" : "wait" }));
      plain = "";
    } else {
      plain += `${line}\n`;
    }
  }
  gutter.replaceChildren(...parts, plain);
  gutter.scrollTop = field.scrollTop;
};

/** Leads to a place of the document; its column counts letters, not units of them. */
const lead = (line, column) => {
  const lines = field.value.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, it) => sum + it.length + 1, 0);
  const whole = lines[line - 1] ?? "";
  const from = before + [...whole].slice(0, column - 1).join("").length;
  field.focus();
  field.setSelectionRange(from, before + whole.length);
  field.scrollTop = (line - 5) * parseFloat(getComputedStyle(field).lineHeight);
};

const finding = ({ severity, line, column, rule, message, example }) => {
  const row = document.createElement("li");
  const link = make("button", `Line ${line}, column ${column}`, { type: "button", className: "link" });
  link.addEventListener("click", () => lead(line, column));
  const said = document.createElement("span");
  said.append(link, rule === null ? ": " : `, rule ${seen(rule)}: `, make("bdi", seen(message)));
  if (example) {
    const such = make("span", "for example ", { className: "small" });
    const call = make("code", "");
    call.append(make("bdi", seen(`${example.tool} ${JSON.stringify(example.args)}`)));
    such.append(call);
    said.append("; ", such);
  }
  row.append(badge(severity), said);
  return row;
};
const findings = (found, is) => {
  const errors = found.filter(({ severity }) => severity === "error").length;
  const count = found.length === 1 ? "1 finding" : `${found.length} findings`;
  status("lint", !is ? `It cannot be saved: ${errors === 1 ? "1 error" : `${errors} errors`}.` : found.length ? `${count}; it can be saved.` : "No findings.");
  list("lint").replaceChildren(...found.map(finding));
  numbers(found);
};
const ran = ({ passed, failed, results, uncovered_rules: rest }) => {
  status("tests", `${passed} of ${passed + failed} pass.${rest.length ? ` No test reaches ${seen(rest.join(", "))}.` : ""}`);
  const rows = results.filter((it) => !it.passed).map((it) => {
    const row = document.createElement("li");
    const said = document.createElement("span");
    said.append(make("bdi", `${seen(it.name)}: `), ...it.differences.map((line) => make("bdi", `${seen(line)} `)));
    row.append(badge("error"), said);
    return row;
  });
  list("tests").replaceChildren(...rows);
};

let turn = 0;
/** The response for a document, or null if there is a newer one. */
const ask = async (of, path, body) => {
  const headers = { "Service-CSRF": form.dataset.csrf, Accept: "application/json", "Content-Type": "application/json" };
  for (let asks = 0; of === turn; asks += 1) {
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    if (response.status !== 429 || asks === ASKS) return of === turn ? response : null;
    await later(AGAIN);
  }
  return null;
};
const suite = async () => (await (await fetch(`/v1/policies/${form.dataset.editor}/tests`)).json()).suite ?? null;
let kept;
const look = async () => {
  const of = turn += 1;
  try {
    const text = field.value;
    const linted = await ask(of, "/v1/policies/lint", { document: text });
    if (linted === null) return;
    const found = await linted.json();
    if (!linted.ok) return status("lint", `${found.error.message} (${found.error.code})`);
    findings(found.lint, found.valid);
    list("tests").replaceChildren();
    kept ??= await suite();
    if (kept === null) return;
    if (!found.valid) return status("tests", "They run once it has no errors.");
    const tested = await ask(of, "/v1/policies/test", { document: text, suite: kept });
    if (tested === null) return;
    const run = await tested.json();
    if (tested.ok) ran(run);
    else status("tests", `${run.error.message} (${run.error.code})`);
  } catch {
    status("lint", "No response: it was not checked.");
  }
};

if (form) {
  let rests;
  field.addEventListener("input", () => {
    turn += 1;
    status("lint", "…");
    numbers([]);
    clearTimeout(rests);
    rests = setTimeout(look, REST);
  });
  field.addEventListener("scroll", () => { gutter.scrollTop = field.scrollTop; });
  numbers([]);
  look();
}
