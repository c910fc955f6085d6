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
/** How long until a stream that broke off is asked for again, and one that was refused. */
const BROKEN = 3_000;
const REFUSED = 30_000;
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
    offer(seen.size === 1 ? "1 new. Show it" : `${seen.size} new. Show them`);
    document.title = `(${seen.size}) ${title}`;
  },
  /** A new stream has nothing of what happened since the previous one. */
  stands({ text, isLive, isAnew }) {
    if (isOut && !isLive) return;
    if (isOut) isIn();
    if (isAnew && wasLive) takes.missed();
    wasLive ||= isLive;
    show(text, isLive);
  },
  missed() {
    offer("There may be new entries. Show them");
  },
  ended({ isElsewhere }) {
    isOut = true;
    leaves?.();
    show(isElsewhere ? "Not live" : "Signed out", false);
    offer(isElsewhere ? "You are signed in as somebody else or to another org. Reload the page" : "You are signed out. Sign in");
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
    if (session.status >= 429) throw new Error("the service is unavailable");
    const { user, org } = session.ok ? await session.json() : {};
    // The browser may be somebody else's by now, or in another org.
    if (`${user?.id} ${org}` !== who) return tell({ what: "ended", isElsewhere: session.ok });
    if (left.aborted) return;
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
      // Left to itself it would connect again without asking whose the browser is.
      const isRefused = source.readyState === EventSource.CLOSED;
      source.close();
      if (!isRefused) return waits("Not live, retrying", BROKEN);
      why(address).catch(fails);
    });
  };
  /** An event source does not report why it was refused; a second request does. */
  const why = async (address) => {
    const stop = new AbortController();
    const { status } = await fetch(address, { signal: stop.signal });
    stop.abort();
    waits(status === 429 ? "Not live: too many browsers" : "Not live", REFUSED);
  };
  const waits = (text, time) => {
    if (left.aborted) return;
    stands(text, false);
    clearTimeout(again);
    again = setTimeout(tries, time);
  };
  const fails = () => waits("Not live", REFUSED);
  const tries = () => {
    source?.close();
    clearTimeout(again);
    opens().catch(fails);
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

/** The same person is signed in again to the same org. */
const isIn = () => {
  isOut = false;
  if (!document.hidden) joins();
};

if (fresh && counted.size) {
  if (navigator.locks) {
    let leaving;
    const looks = () => {
      clearTimeout(leaving);
      if (document.hidden) leaving = setTimeout(() => leaves?.(), HIDDEN);
    };
    channel.addEventListener("message", ({ data }) => take(data));
    joins();
    looks();
    document.addEventListener("visibilitychange", () => {
      looks();
      if (document.hidden || isOut) return;
      if (stand && !stand.isLive) leaves?.();
      if (!leaves) joins();
    });
    addEventListener("pagehide", () => leaves?.());
  } else {
    show("Not live", false);
  }
}
