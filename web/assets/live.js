// What happened since the page was made: counted and offered, never moved under the hand.

const kinds = {
  action: ["action.created", "deed.sealed"],
  overview: ["action.created", "deed.sealed"],
  approval: ["approval.requested", "approval.answered", "approval.approved", "approval.denied", "approval.expired", "approval.cancelled", "approval.voided"],
};
/** A window that nobody looks at for so long gives its stream back: each person has few. */
const HIDDEN = 60_000;
const place = document.querySelector("[data-live]");
const counted = kinds[place?.dataset.live] ?? [];
const fresh = place?.querySelector(".fresh");
const mark = document.querySelector("[data-live-mark]");
const title = document.title;
const seen = new Set();
let source, last, leaves, isOut = false, wasOpen = false;

const offer = (text) => {
  const link = fresh.querySelector("a");
  link.href = location.href;
  link.textContent = text;
  fresh.hidden = false;
};
const heard = (event) => {
  last = event.lastEventId;
  const { object } = JSON.parse(event.data).data;
  seen.add(object.action ?? object.id);
  offer(seen.size === 1 ? "1 is new. Show it" : `${seen.size} are new. Show them`);
  document.title = `(${seen.size}) ${title}`;
};
const stands = (text, is) => {
  if (!mark) return;
  mark.textContent = text;
  mark.classList.toggle("lost", !is);
  mark.hidden = false;
};
const ended = () => {
  isOut = true;
  source.close();
  stands("Signed out", false);
  offer("You are signed out. Sign in");
};
/** A stream that begins anew tells nothing of what happened since the one before it. */
const greeted = (event) => {
  if (wasOpen && !JSON.parse(event.data).resumed) offer("Something may be new. Show it");
  wasOpen = true;
  stands("Live", true);
};
/** Why a stream was refused is told to no listener; the same question asked once more tells it. */
const why = async (address) => {
  const stop = new AbortController();
  const { status } = await fetch(address, { signal: stop.signal });
  stop.abort();
  if (status === 401) return ended();
  stands(status === 429 ? "Not live: too many windows are" : "Not live", false);
};
const open = () => {
  const from = last ? `&last_event_id=${encodeURIComponent(last)}` : "";
  const address = `/v1/events?types=${counted.join(",")}${from}`;
  source = new EventSource(address);
  source.addEventListener("hello", greeted);
  source.addEventListener("error", () => {
    if (source.readyState !== EventSource.CLOSED) return stands("Not live, trying again", false);
    why(address).catch(() => stands("Not live", false));
  });
  source.addEventListener("session_ended", ended);
  source.addEventListener("resync", () => offer("Something may be new. Show it"));
  for (const kind of counted) source.addEventListener(kind, heard);
};

if (fresh && counted.length) {
  open();
  document.addEventListener("visibilitychange", () => {
    clearTimeout(leaves);
    if (document.hidden) leaves = setTimeout(() => source.close(), HIDDEN);
    else if (source.readyState === EventSource.CLOSED && !isOut) open();
  });
  addEventListener("pagehide", () => source.close());
}
