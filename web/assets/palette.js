// The palette: the rooms, agents by the beginning of their names, and whatever an id names. It leads
// somewhere and does nothing else; keys alone are enough for it.

/** So long nobody types before agents are asked for. */
const REST = 150;
/** The parts of rooms that no link of the rail leads to. */
const PARTS = [
  ["Stop all", "/app/stop"], ["Org", "/app/settings/org"], ["Members", "/app/settings/members"],
  ["Org keys", "/app/settings/keys"], ["Your sessions", "/app/settings/sessions"],
  ["Pending calls", "/app/actions?state=pending_approval"], ["Mismatches", "/app/actions?verdict=MISMATCH"],
];

const make = (name, text, attributes = {}) => Object.assign(document.createElement(name), { textContent: text }, attributes);
const rooms = () => {
  const links = [...document.querySelectorAll(".rail a")];
  const named = links.map((link) => [link.querySelector("span:not(.count)").textContent.trim(), link.getAttribute("href")]);
  return [...named, ...PARTS].map(([name, href]) => ({ name, href, what: "" }));
};
const agents = async (text) => {
  try {
    const response = await fetch(`/v1/agents?q=${encodeURIComponent(text)}&limit=6`, { headers: { Accept: "application/json" } });
    if (!response.ok) return [];
    return (await response.json()).data.map(({ id, name }) => ({ name, href: `/app/agents/${id}`, what: "agent" }));
  } catch {
    return [];
  }
};
const anything = (text) => {
  const is = /^[a-z]+_[0-9a-z]{26}$/.test(text);
  return { name: is ? `Go to ${text}` : `Search for “${text}”`, href: `/app/go?q=${encodeURIComponent(text)}`, what: is ? "id" : "actions" };
};

export const open = () => {
  if (document.querySelector("dialog[open]")) return;
  const dialog = make("dialog", "", { className: "palette" });
  dialog.setAttribute("aria-label", "Go to");
  const input = make("input", "", { id: "palette-input", autocomplete: "off", spellcheck: false, maxLength: 128, placeholder: "A page, an agent, an id" });
  const list = make("ul", "", { id: "palette-list" });
  const count = make("p", "", { className: "hidden" });
  const set = (it, attributes) => { for (const name in attributes) it.setAttribute(name, attributes[name]); };
  set(input, { role: "combobox", "aria-label": "Go to a page, an agent or an id", "aria-expanded": "true", "aria-controls": list.id, "aria-autocomplete": "list" });
  set(list, { role: "listbox", "aria-label": "Places" });
  set(count, { role: "status" });
  let at = 0, turn = 0, rests;
  const choose = (place) => {
    const rows = [...list.children];
    at = (place + rows.length) % rows.length;
    rows.forEach((row, index) => row.setAttribute("aria-selected", String(index === at)));
    input.setAttribute("aria-activedescendant", rows[at].id);
    rows[at].scrollIntoView({ block: "nearest" });
  };
  const show = (found) => {
    list.replaceChildren(...found.map(({ name, href, what }, index) => {
      const row = make("li", "", { id: `palette-${index}` });
      row.setAttribute("role", "option");
      row.append(make("bdi", name), make("small", what));
      row.dataset.href = href;
      return row;
    }));
    count.textContent = found.length === 1 ? "1 place" : `${found.length} places`;
    choose(0);
  };
  const look = async () => {
    const of = turn += 1;
    const text = input.value.trim();
    const is = (it) => it.name.toLowerCase().includes(text.toLowerCase());
    const known = rooms().filter(is);
    if (text === "") return show(known);
    show([...known, anything(text)]);
    clearTimeout(rests);
    rests = setTimeout(async () => {
      const found = await agents(text);
      // What is chosen meanwhile stays where it is.
      if (of === turn && at === 0 && found.length) show([...known, ...found, anything(text)]);
    }, REST);
  };
  const go = (row) => { location.href = row.dataset.href; };
  input.addEventListener("input", look);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const does = {
      ArrowDown: () => choose(at + 1), ArrowUp: () => choose(at - 1),
      Enter: () => go(list.children[at]),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  });
  list.addEventListener("click", (event) => {
    const row = event.target.closest("li");
    if (row) go(row);
  });
  // A click beside it is one on what lies behind it.
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => { clearTimeout(rests); dialog.remove(); });
  dialog.append(input, list, count);
  document.body.append(dialog);
  look();
  dialog.showModal();
  input.focus();
};
