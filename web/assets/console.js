// What a browser adds to the pages: copying, times that go on, forms of the interface, keys. Every
// page reads and decides without it. No text becomes markup here: pages forbid it.

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (name, text, attributes = {}) => {
  const made = Object.assign(document.createElement(name), attributes);
  if (text) made.textContent = text;
  return made;
};

// Copying, and what is said about it.
const status = make("p", "", { className: "toast", hidden: true });
status.setAttribute("role", "status");
document.body.append(status);
let ends;
const say = (text) => {
  status.textContent = text;
  status.hidden = false;
  clearTimeout(ends);
  ends = setTimeout(() => { status.hidden = true; }, 2000);
};
const copies = (button) => {
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      say("Copied");
    } catch {
      say("The browser did not let it be copied");
    }
  });
};
if (navigator.clipboard) all("[data-copy]").forEach(copies);

// Times. The server's words stand until the first refresh, so nothing moves when the page is read.
const spoken = (seconds) => {
  const [minutes, hours, days] = [60, 3600, 86400].map((unit) => Math.floor(seconds / unit));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${minutes} min`;
  if (seconds < 86400) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return days === 1 ? "1 day" : `${days} days`;
};
const ago = (at) => {
  const seconds = Math.floor((Date.now() - at) / 1000);
  if (seconds < -1) return `in ${spoken(-seconds)}`;
  return seconds < 5 ? "just now" : `${spoken(seconds)} ago`;
};
const relative = all("time").filter((it) => /ago$|^in |^just now$/.test(it.textContent.trim()));
setInterval(() => {
  for (const it of relative) it.textContent = ago(Date.parse(it.dateTime));
}, 30_000);
const counts = (it) => {
  const until = Date.parse(it.dataset.until);
  const shown = it.querySelector("strong");
  const told = new Set();
  const tick = () => {
    const seconds = Math.max(0, Math.floor((until - Date.now()) / 1000));
    const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    if (seconds < 600 || seconds % 60 === 0) shown.textContent = seconds < 600 ? clock : spoken(seconds);
    for (const left of [300, 60]) {
      if (seconds <= left && seconds > left - 5 && !told.has(left)) {
        told.add(left);
        say(`${spoken(left)} left`);
      }
    }
    if (seconds === 0) clearInterval(timer);
  };
  const timer = setInterval(tick, 1000);
};
all("[data-until]").forEach(counts);

// Forms. One that goes to a page is sent once; one that goes to the interface says here what came of it.
const sent = new WeakSet();
for (const form of all("form:not(.scripted)")) {
  if (form.method !== "post") continue;
  form.addEventListener("submit", (event) => {
    if (sent.has(form)) return event.preventDefault();
    sent.add(form);
    // The pressed button's own value is read before this runs, and it keeps the focus.
    setTimeout(() => {
      all("button", form).forEach((button) => button.setAttribute("aria-disabled", "true"));
      if (event.submitter && form.matches(".decide")) event.submitter.textContent = "Deciding…";
    });
  });
}
// Whoever comes back to a page finds it as it is now, not as it was left.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

const value = (field) => {
  switch (field.dataset.type) {
    case "number": return Number(field.value);
    case "boolean": return field.checked;
    case "list": return field.value.split(",").map((one) => one.trim()).filter(Boolean);
    case "json": return JSON.parse(field.value);
    default: return field.value;
  }
};
const members = (form) => {
  const found = {};
  for (const field of form.elements) {
    if (!field.name || (field.type === "radio" && !field.checked)) continue;
    if (field.value === "" && !field.required) continue;
    found[field.name] = value(field);
  }
  return found;
};
const refused = (form, text, name) => {
  const answer = form.querySelector(".answer");
  answer.textContent = text;
  answer.hidden = false;
  const field = name && form.elements.namedItem(name);
  if (field && field.focus && field.type !== "hidden") {
    field.setAttribute("aria-invalid", "true");
    field.focus();
  }
};
const once = (form, secret) => {
  const place = form.querySelector(".once");
  const button = make("button", "Copy", { type: "button" });
  button.dataset.copy = secret;
  place.append(make("code", secret), button);
  copies(button);
  place.hidden = false;
  form.querySelector("button.primary").hidden = true;
};
const again = () => { location.href = `/app/again?next=${encodeURIComponent(location.pathname + location.search)}`; };

const send = async (form) => {
  const [method, path] = form.dataset.send.split(" ");
  all("[aria-invalid]", form).forEach((it) => it.removeAttribute("aria-invalid"));
  const typed = form.querySelector("[data-typed]");
  if (typed && typed.value !== typed.dataset.typed) {
    typed.setAttribute("aria-invalid", "true");
    typed.focus();
    return refused(form, "That is not the name.");
  }
  let body;
  try {
    body = members(form);
  } catch {
    return refused(form, "The arguments are no JSON.", "args");
  }
  const asked = { method, headers: { "Service-CSRF": form.dataset.csrf, Accept: "application/json" } };
  if (Object.keys(body).length || (method === "POST" && !("empty" in form.dataset))) {
    asked.headers["Content-Type"] = "application/json";
    asked.body = JSON.stringify(body);
  }
  let response, answer;
  try {
    response = await fetch(path, asked);
    answer = await response.json();
  } catch {
    return refused(form, "No answer came. Look whether it was done before you send it again.");
  }
  if (response.status === 401) {
    location.href = `/login?next=${encodeURIComponent(location.pathname + location.search)}`;
  } else if (answer.error?.code === "reauthentication_required") {
    again();
  } else if (!response.ok) {
    refused(form, `${answer.error.message} (${answer.error.code})`, answer.error.param);
  } else if (form.querySelector(".once")) {
    once(form, answer.secret);
  } else if ("show" in form.dataset) {
    const shown = form.querySelector(".shown");
    shown.textContent = JSON.stringify(answer, null, 2);
    shown.hidden = false;
  } else {
    location.href = form.dataset.next.replace("{id}", answer.id);
  }
};
for (const form of all("form.scripted")) {
  all(".needs-script", form).forEach((it) => { it.hidden = true; });
  all("button", form).forEach((it) => { it.disabled = false; });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.dataset.ask && !confirm(form.dataset.ask)) return;
    const buttons = all("button", form);
    buttons.forEach((it) => { it.disabled = true; });
    await send(form);
    buttons.forEach((it) => { it.disabled = false; });
  });
}

// A deed is checked here, by what this page was given and nothing else.
for (const button of all("[data-verify]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const place = document.querySelector(".verified");
    button.disabled = true;
    const list = make("ul");
    const tell = (is, text) => list.append(make("li", `${is ? "✓" : "⊗"} ${text}`, { className: is ? "yes" : "no" }));
    try {
      const { checks } = await import(button.dataset.verifier);
      for (const line of await checks(button.dataset.verify)) tell(...line);
    } catch {
      tell(false, "The verifier could not be loaded.");
    }
    place.replaceChildren(list);
    button.disabled = false;
  });
}

// Keys. None of them decides anything, and none works while somebody types.
const types = (it) => it.closest("input, textarea, select, dialog, [contenteditable]");
const rows = () => all(".rows > li, .rows > tbody > tr").map((row) => row.querySelector("a")).filter((it) => it?.offsetParent);
const step = (by) => {
  const found = rows();
  const at = found.findIndex((it) => it.closest("li, tr").contains(document.activeElement));
  found[Math.min(Math.max(at + by, 0), found.length - 1)]?.focus();
};
const focus = (selector) => document.querySelector(selector)?.focus();
const go = (place) => () => { location.href = `/app${place && "/"}${place}`; };
const help = () => {
  const dialog = make("dialog");
  dialog.setAttribute("aria-labelledby", "keys-title");
  const list = make("dl");
  for (const [key, text] of [
    ["j, k", "next and previous row"], ["Enter", "open it"], ["/", "jump to an id, an agent or a tool"],
    ["g o", "overview"], ["g p", "approvals"], ["g a", "actions"], ["g n", "agents"], ["g l", "ledger"],
    ["a, d", "move to Approve or Deny; Enter then decides"], ["?", "this list"],
  ]) {
    const row = make("div");
    const term = make("dt");
    term.append(make("kbd", key));
    row.append(term, make("dd", text));
    list.append(row);
  }
  const close = make("button", "Close", { type: "button" });
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  dialog.append(make("h2", "Keys", { id: "keys-title" }), list, close);
  document.body.append(dialog);
  dialog.showModal();
};
const keys = {
  j: () => step(1),
  k: () => step(-1),
  "?": help,
  "/": () => focus("#jump"),
  a: () => focus(".decide .primary"),
  d: () => focus(".decide .bar button:not(.primary)"),
};
const places = { o: go(""), p: go("approvals"), a: go("actions"), n: go("agents"), l: go("ledger"), g: keys["/"] };
let going = 0;
if (!/(^|; )shortcuts=off(;|$)/.test(document.cookie)) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || types(event.target)) return;
    const does = Date.now() - going < 1500 ? places[event.key] : keys[event.key];
    going = !does && event.key === "g" ? Date.now() : 0;
    if (!does) return;
    event.preventDefault();
    does();
  });
}
