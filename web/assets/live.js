// What happened since the page was made: counted and offered, never moved under the hand.

const kinds = {
  action: ["action.created", "deed.sealed"],
  approval: ["approval.requested", "approval.approved", "approval.denied", "approval.expired", "approval.voided"],
};
const place = document.querySelector("[data-live]");
const counted = kinds[place?.dataset.live] ?? [];
const fresh = place?.querySelector(".fresh");
const title = document.title;
const seen = new Set();

const tell = () => {
  const link = fresh.querySelector("a");
  link.href = location.href;
  link.textContent = seen.size === 1 ? "1 is new. Show it" : `${seen.size} are new. Show them`;
  fresh.hidden = false;
  document.title = `(${seen.size}) ${title}`;
};
const heard = (event) => {
  const { object } = JSON.parse(event.data).data;
  seen.add(object.action ?? object.id);
  tell();
};

if (fresh && counted.length) {
  const source = new EventSource(`/v1/events?types=${counted.join(",")}`);
  const mark = document.querySelector("[data-live-mark]");
  source.addEventListener("hello", () => { if (mark) mark.hidden = false; });
  source.addEventListener("error", () => { if (mark) mark.hidden = true; });
  source.addEventListener("session_ended", () => source.close());
  source.addEventListener("resync", () => { if (seen.size) tell(); });
  for (const kind of counted) source.addEventListener(kind, heard);
  addEventListener("pagehide", () => source.close());
}
