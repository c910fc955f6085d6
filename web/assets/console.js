// What a browser adds to the pages: copying, times that are refreshed, forms of the API, keys. Every
// page reads and decides without it. No text becomes markup here: pages forbid it.

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (name, text, attributes = {}) => {
  const made = Object.assign(document.createElement(name), attributes);
  if (text) made.textContent = text;
  return made;
};

// Letters that nobody sees, or that turn the text, are shown by their number, as in the pages.
const unseen = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}-\u{180f}\u{200b}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{3164}\u{feff}\u{ffa0}\u{fff0}-\u{fffb}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
const seen = (text) => text.replace(unseen, (it) =>
  `⟦U+${it.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟧`);

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

// Times. The server's words stay until the first refresh, so nothing moves when the page is read.
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

// Forms. One that goes to a page is sent once; one that goes to the API shows its result on this page.
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
// A note is kept in this tab until the decision is accepted: after a refusal or a sign-in the page shows
// it again. A request that can no longer be decided has no note to keep.
for (const question of all("[data-keeps]")) {
  const name = `note ${question.dataset.keeps}`;
  const note = question.querySelector(".decide textarea");
  const goesOn = question.querySelector(".decide .primary") || new URLSearchParams(location.search).has("problem");
  try {
    if (!note || !goesOn) sessionStorage.removeItem(name);
    else note.value ||= sessionStorage.getItem(name) ?? "";
  } catch {
    // The browser keeps nothing for this site, and the note lasts as long as the page.
  }
  note?.form.addEventListener("submit", () => {
    try {
      sessionStorage.setItem(name, note.value);
    } catch {
      // As above.
    }
  });
}
// A link of a mail is a credential, so it does not stay in the address bar. The history keeps it, so that
// the page can be reloaded.
if (location.pathname === "/approve") {
  const kept = history.state?.link;
  if (new URLSearchParams(location.search).has("t")) {
    history.replaceState({ link: location.search }, "", location.pathname + location.hash);
  } else if (kept) {
    location.replace(location.pathname + kept + location.hash);
  }
}
// A link to a form opens it.
const opens = () => {
  const named = document.getElementById(location.hash.slice(1));
  if (named instanceof HTMLDetailsElement) named.open = true;
};
opens();
addEventListener("hashchange", opens);
// The address may name it already.
all("a[href^='#']").forEach((it) => it.addEventListener("click", () => setTimeout(opens)));
// A page from the back/forward cache is reloaded, so that it shows the current state.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

const value = (field) => {
  switch (field.dataset.type) {
    case "number": return Number(field.value);
    case "boolean": return field.checked;
    // The pages show and accept times in UTC.
    case "moment": return new Date(`${field.value}Z`).toISOString();
    case "list": return field.value.split(",").map((one) => one.trim()).filter(Boolean);
    case "json":
      try {
        return JSON.parse(field.value);
      } catch {
        throw new Error(field.name);
      }
    default: return field.value;
  }
};
// A name with a dot is that of a member of a member.
const put = (found, name, it) => {
  const [first, rest] = name.split(/\.(.*)/s);
  if (rest === undefined) found[first] = it;
  else put((found[first] ??= {}), rest, it);
};
const members = (form) => {
  const found = {};
  for (const field of form.elements) {
    if (!field.name || (field.type === "radio" && !field.checked)) continue;
    if (field.value === "" && !field.required && !("always" in field.dataset)) continue;
    put(found, field.name, value(field));
  }
  return found;
};
const refused = (form, text, name, ...more) => {
  const problem = form.querySelector(".problem");
  problem.replaceChildren(text, ...more);
  problem.hidden = false;
  // The button may be elsewhere on the page.
  problem.scrollIntoView({ block: "nearest" });
  const field = name && form.elements.namedItem(name);
  if (field && field.focus && field.type !== "hidden") {
    field.setAttribute("aria-invalid", "true");
    field.focus();
  }
};
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
/** Shows the result of a form and moves the focus there, for readers who cannot see it appear. */
const shows = (place) => {
  place.hidden = false;
  if (!place.hasAttribute("tabindex")) place.tabIndex = -1;
  place.focus();
};
const once = (form, { secret, id }) => {
  const place = form.querySelector(".once");
  const button = make("button", "Copy", { type: "button" });
  button.dataset.copy = secret;
  place.append(make("code", secret), button);
  copies(button);
  if (form.dataset.next) place.append(make("a", "Continue", { href: filled(form.dataset.next, { id }), className: "button" }));
  shows(place);
  form.querySelector("button.primary").hidden = true;
};
/** A link that signs in in a new window, so that this page keeps what was typed. */
const elsewhere = (page) => {
  const href = `${page}?next=${encodeURIComponent(location.pathname + location.search)}`;
  return make("a", "Sign in again in a new window", { href, target: "_blank", rel: "noopener" });
};
/** Takes over a newer session of the same person in the same org; returns whether there is one. */
const isRenewed = async () => {
  const place = document.querySelector("[data-who]");
  const response = await fetch("/v1/session", { headers: { Accept: "application/json" } });
  if (!place || !response.ok) return false;
  const { user, org, csrf } = await response.json();
  if (place.dataset.who !== `${user.id} ${org}` || place.dataset.csrf === csrf) return false;
  all("[data-csrf]").forEach((it) => { it.dataset.csrf = csrf; });
  all("input[name=csrf]").forEach((it) => { it.value = csrf; });
  return true;
};

// A URL that differs from this one only in its fragment does not reload the page.
const leads = (next) => {
  if (next.pathname + next.search !== location.pathname + location.search) {
    location.href = next.href;
  } else {
    location.hash = next.hash;
    location.reload();
  }
};

const send = async (form) => {
  const [method, path] = form.dataset.send.split(" ");
  form.querySelector(".problem").hidden = true;
  all("[aria-invalid]", form).forEach((it) => it.removeAttribute("aria-invalid"));
  const typed = form.querySelector("[data-typed]");
  if (typed && typed.value !== typed.dataset.typed) {
    typed.setAttribute("aria-invalid", "true");
    typed.focus();
    return refused(form, "The name does not match.");
  }
  let body;
  try {
    body = members(form);
  } catch (error) {
    return refused(form, "This field is not valid JSON.", error.message);
  }
  const asked = { method, headers: { "Service-CSRF": form.dataset.csrf, Accept: "application/json" } };
  if (Object.keys(body).length || (method === "POST" && !("empty" in form.dataset))) {
    asked.headers["Content-Type"] = "application/json";
    asked.body = JSON.stringify(body);
  }
  let response, reply;
  const asks = async () => {
    response = await fetch(path, asked);
    reply = await response.json();
  };
  try {
    await asks();
    // After a sign-in in another window there is a new session, and nothing was done yet.
    if (reply.error?.code === "csrf_failed" && await isRenewed()) {
      asked.headers["Service-CSRF"] = form.dataset.csrf;
      await asks();
    }
  } catch {
    return refused(form, "No response. Check whether it was done before you send it again.");
  }
  if (response.status === 401) {
    refused(form, "You are signed out, and nothing was done. What you typed is kept. ", null, elsewhere("/login"));
  } else if (reply.error?.code === "reauthentication_required") {
    refused(form, `${reply.error.message} (${reply.error.code}). What you typed is kept. `, null, elsewhere("/app/again"));
  } else if (!response.ok) {
    refused(form, `${reply.error.message} (${reply.error.code})`, reply.error.param);
  } else if (form.querySelector(".once")) {
    once(form, reply);
  } else if (form.dataset.says) {
    const more = reply.more_since ? ` There are more: recover them since ${reply.more_since}.` : "";
    const said = form.querySelector(".said");
    said.textContent = filled(form.dataset.says, reply) + more;
    shows(said);
  } else if ("lines" in form.dataset) {
    const line = ({ name, passed, differences }) => {
      const shown = make("li", "", { className: passed ? "yes" : "no" });
      const text = make("span", "");
      text.append(make("strong", seen(name)), seen(differences.length ? `: ${differences.join(" ")}` : ""));
      shown.append(make("span", passed ? "✓" : "⊗", { ariaHidden: true }), make("span", passed ? " passed " : " failed ", { className: "hidden" }), text);
      return shown;
    };
    const shown = form.querySelector(".lines");
    shown.replaceChildren(...reply.results.map(line));
    shows(shown);
  } else if (form.dataset.text) {
    const shown = form.querySelector(".shown");
    const text = reply[form.dataset.text];
    shown.textContent = seen(text ?? form.dataset.none);
    form.querySelector("[data-copy]")?.remove();
    if (text && navigator.clipboard) {
      const button = make("button", "Copy", { type: "button" });
      button.dataset.copy = text;
      form.append(button);
      copies(button);
    }
    shows(shown);
  } else if ("show" in form.dataset) {
    const shown = form.querySelector(".shown");
    shown.textContent = JSON.stringify(reply, null, 2);
    shows(shown);
  } else {
    leads(new URL(filled(form.dataset.next, reply), location.href));
  }
};
/** Runs it once at a time. Its buttons are marked and keep the focus, which a disabled one would lose. */
const exclusive = (buttons, does) => {
  let isUnderWay = false;
  return async () => {
    if (isUnderWay) return;
    isUnderWay = true;
    buttons.forEach((it) => it.setAttribute("aria-disabled", "true"));
    try {
      await does();
    } finally {
      isUnderWay = false;
      buttons.forEach((it) => it.removeAttribute("aria-disabled"));
    }
  };
};
for (const form of all("form.scripted")) {
  all(".needs-script", form).forEach((it) => { it.hidden = true; });
  // A button may be elsewhere on the page and name its form.
  const buttons = [...form.elements].filter((it) => it instanceof HTMLButtonElement);
  buttons.forEach((it) => { it.disabled = false; });
  const sends = exclusive(buttons, async () => {
    if (!form.dataset.ask || confirm(form.dataset.ask)) await send(form);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    sends();
  });
}

// A deed is verified in this browser, only with the data of this page.
for (const button of all("[data-verify]")) {
  button.hidden = false;
  button.addEventListener("click", exclusive([button], async () => {
    const place = document.querySelector(".verified");
    const list = make("ul");
    const add = (is, text) => list.append(make("li", `${is ? "✓" : "⊗"} ${text}`, { className: is ? "yes" : "no" }));
    try {
      const { checks } = await import(button.dataset.verifier);
      for (const line of await checks(button.dataset.verify)) add(...line);
    } catch {
      add(false, "The verifier could not be loaded.");
    }
    place.replaceChildren(list);
  }));
}

// The palette comes when it is first asked for.
for (const button of all("[data-palette]")) {
  const opens = async () => {
    try {
      (await import(button.dataset.palette)).open();
    } catch {
      focus("#jump");
    }
  };
  button.hidden = false;
  button.addEventListener("click", opens);
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    opens();
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
    ["j, k", "next and previous row"], ["Enter", "open it"], ["/", "jump to an id, an agent or a tool"], ["Ctrl K, ⌘ K", "go to a page, an agent or an id"],
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
// Whoever speaks to a browser presses keys by accident: they can be turned off, in this browser alone.
const keysAreOff = () => /(^|; )shortcuts=off(;|$)/.test(document.cookie);
const shortcuts = document.querySelector("[data-shortcuts]");
if (shortcuts) {
  const box = shortcuts.querySelector("input");
  box.checked = !keysAreOff();
  box.addEventListener("change", () => {
    const secure = location.protocol === "https:" ? "; secure" : "";
    const kept = "path=/app; max-age=31536000; samesite=strict";
    document.cookie = `shortcuts=${box.checked ? "on" : "off"}; ${kept}${secure}`;
  });
  shortcuts.hidden = false;
}
document.addEventListener("keydown", (event) => {
  if (keysAreOff() || event.ctrlKey || event.metaKey || event.altKey || types(event.target)) return;
  const does = Date.now() - going < 1500 ? places[event.key] : keys[event.key];
  going = !does && event.key === "g" ? Date.now() : 0;
  if (!does) return;
  event.preventDefault();
  does();
});
