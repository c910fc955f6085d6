// What happened since the page was made: counted and offered, never moved under the hand.
//
// The windows of a browser share one stream: over HTTP/1.1 a browser opens six connections to a
// host, and a stream for each window would leave none for a page. The window that holds the lock
// listens and hands on what it hears; when it goes, another one takes over where it was. Every page
// reads and decides without any of this.

const kinds = {
  action: ["action.created", "deed.sealed"],
  overview: ["action.created", "deed.sealed"],
  approval: ["approval.requested", "approval.answered", "approval.approved", "approval.denied", "approval.expired", "approval.cancelled", "approval.voided"],
};
const every = [...new Set(Object.values(kinds).flat())];
/** A window that nobody looks at for so long leaves listening to the others. */
const HIDDEN = 60_000;
/** How long until a stream that was refused is asked for again. */
const AGAIN = 30_000;
const place = document.querySelector("[data-live]");
const counted = new Set(kinds[place?.dataset.live]);
const fresh = place?.querySelector(".fresh");
const mark = document.querySelector("[data-live-mark]");
const who = document.querySelector("[data-who]")?.dataset.who;
const title = document.title;
const seen = new Set();
// Windows of another person or org, or of another version of this file, have nothing in common.
const shared = `${import.meta.url} ${who}`;
const channel = new BroadcastChannel(shared);
let last, stand, leaves, wasLive = false, isOut = false;

const offer = (text) => {
  const link = fresh.querySelector("a");
  link.href = location.href;
  link.textContent = text;
  fresh.hidden = false;
};
const show = (text, isLive) => {
  if (!mark) return;
  mark.textContent = text;
  mark.classList.toggle("lost", !isLive);
  mark.hidden = false;
};

/** What each message between windows does to one of them. */
const takes = {
  asked() {
    if (stand) channel.postMessage({ ...stand, last });
  },
  heard({ kind, about }) {
    if (!counted.has(kind)) return;
    seen.add(about);
    offer(seen.size === 1 ? "1 is new. Show it" : `${seen.size} are new. Show them`);
    document.title = `(${seen.size}) ${title}`;
  },
  /** A stream that begins anew tells nothing of what happened since the one before it. */
  stands({ text, isLive, isAnew }) {
    if (isAnew && wasLive) takes.missed();
    wasLive ||= isLive;
    show(text, isLive);
  },
  missed() {
    offer("Something may be new. Show it");
  },
  ended() {
    isOut = true;
    leaves?.();
    show("Signed out", false);
    offer("You are signed out. Sign in");
  },
};
const take = (message) => {
  last = message.last ?? last;
  takes[message.what](message);
};
const tell = (message) => {
  take(message);
  channel.postMessage(message);
};

/** Listens for all windows until it is left. */
const listens = (left) => {
  let source, again;
  const stands = (text, isLive, more = {}) => {
    stand = { what: "stands", text, isLive };
    tell({ ...stand, ...more });
  };
  const opens = async () => {
    const session = await fetch("/v1/session", { signal: left });
    if (session.status >= 429) throw new Error("the service does not answer now");
    const { user, org } = session.ok ? await session.json() : {};
    // The browser may be somebody else's by now.
    if (`${user?.id} ${org}` !== who) return tell({ what: "ended" });
    const from = last ? `&last_event_id=${encodeURIComponent(last)}` : "";
    hears(`/v1/events?types=${every.join(",")}${from}`);
  };
  const hears = (address) => {
    source = new EventSource(address);
    source.addEventListener("hello", ({ data, lastEventId }) =>
      stands("Live", true, { isAnew: !JSON.parse(data).resumed, last: lastEventId }));
    for (const kind of every) {
      source.addEventListener(kind, ({ data, lastEventId }) => {
        const { object } = JSON.parse(data).data;
        tell({ what: "heard", kind, about: object.action ?? object.id, last: lastEventId });
      });
    }
    source.addEventListener("resync", () => tell({ what: "missed" }));
    source.addEventListener("session_ended", () => tries());
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) return stands("Not live, trying again", false);
      why(address).catch(waits);
    });
  };
  /** Why a stream was refused is told to no listener; the same question asked once more tells it. */
  const why = async (address) => {
    const stop = new AbortController();
    const { status } = await fetch(address, { signal: stop.signal });
    stop.abort();
    waits(null, status === 429 ? "Not live: too many browsers are" : "Not live");
  };
  const waits = (_, text = "Not live") => {
    if (left.aborted) return;
    stands(text, false);
    again = setTimeout(tries, AGAIN);
  };
  const tries = () => {
    source?.close();
    clearTimeout(again);
    opens().catch(waits);
  };
  left.addEventListener("abort", () => {
    stand = undefined;
    source?.close();
    clearTimeout(again);
  });
  tries();
};

/** Listens once no other window does. */
const joins = () => {
  const left = new AbortController();
  const { signal } = left;
  leaves = () => {
    leaves = undefined;
    left.abort();
  };
  const held = () => new Promise((over) => {
    if (signal.aborted) return over();
    signal.addEventListener("abort", over);
    listens(signal);
  });
  // It was left before its turn came.
  navigator.locks.request(shared, { signal }, held).catch(() => {});
  channel.postMessage({ what: "asked" });
};

if (fresh && counted.size) {
  if (navigator.locks) {
    let leaving;
    channel.addEventListener("message", ({ data }) => take(data));
    joins();
    document.addEventListener("visibilitychange", () => {
      clearTimeout(leaving);
      if (document.hidden) {
        leaving = setTimeout(() => leaves?.(), HIDDEN);
      } else if (!isOut) {
        if (stand && !stand.isLive) leaves?.();
        if (!leaves) joins();
      }
    });
    addEventListener("pagehide", () => leaves?.());
  } else {
    show("Not live", false);
  }
}
