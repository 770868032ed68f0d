// The counting page: a few words, a number, and the next ones are there. Every tap is a line that is kept on this device
// until the server has it, and sent again as it is. An undo is a new line that replaces another one.

import {
  ask, button, byId, codeForm, data, decimal, el, form, keep, kept, newId, offerLanguages, own, padded, page, post, present,
  readToken, say, shelf, speak,
} from "./page.js";

// stretches ahead, below which more are fetched
const FEW = 10;
// answers after which a break is proposed
const BREAK = 50;
// answers that can be undone
const MOST_KEPT = 1000;
// numbers that can be tapped; longer stretches have steppers
const MOST_BUTTONS = 12;
const MOST_SECONDS = 3599.9;
// seconds between two tries, if nothing else says that there is a connection
const LONGEST_WAIT = 60;

// items: stretches with what was said of them, in order; at: the one that is shown; lines: what is not acknowledged yet.
const state = { items: [], at: 0, lines: [], total: 0, seconds: 0, rested: 0, keys: true };
let [token, place, left, isBegun, isOnline, flushing, waking, since] = [null, "", null, false, true, null, null, 0];

const isLabel = (item) => item.words.length === 1;
const isDone = (item) => item.id !== null && !item.partly;
const frontier = () => {
  const first = state.items.findIndex((item) => !isDone(item));
  return first < 0 ? state.items.length : first;
};

// -- keeping, sending, fetching ---------------------------------------------------------------------------------------

/** At once, before anything else can happen: a tap is on the device when the next question is there. */
function save() {
  try {
    localStorage.setItem(place, JSON.stringify(state));
  } catch {
    // storage is full or forbidden: the page says that it must stay open
    data.forgets = true;
  }
}

/** Send what waits, one line after the other, for as long as there is something; then fetch what comes next. */
function flush() {
  flushing ??= deliver().finally(() => (flushing = null));
  waking?.();
  return flushing;
}

async function deliver() {
  for (let wait = 1; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    const heard = state.lines.length ? await sent() : await fetched();
    if (heard === "stop" || (heard && !state.lines.length && !isShort())) return;
    if (heard !== isOnline) {
      isOnline = heard;
      tellStatus();
    }
    if (heard) {
      wait = 0.5;
      continue;
    }
    await new Promise((resolve) => {
      waking = resolve;
      addEventListener("online", resolve, { once: true });
      setTimeout(resolve, 1000 * wait);
    });
    waking = null;
  }
}

async function sent() {
  const outcome = await post(state.lines[0]);
  if (!outcome) return false;
  const { verdict, reason } = outcome;
  if (reason?.reason === "closed" || reason?.reason === "foreign") return refuse(reason.reason);
  if (!"TKC".includes(verdict)) {
    page.prepend(el("p", { class: "error", role: "alert" }, say("refused", { reason: reason?.what ?? verdict })));
  }
  state.lines.shift();
  save();
  tellStatus();
  return true;
}

let isExhausted = false;
const ahead = () => state.items.length - frontier();
const isShort = () => !isExhausted && ahead() < FEW;

async function fetched() {
  if (!isShort()) return true;
  const told = await ask(data.next, padded({ campaign: data.wave, token }));
  if (!told) return false;
  if (!told.stretches) return refuse(told.refused ?? "refused");
  const known = new Set(state.items.filter((item) => !data.again || !isDone(item)).map((item) => item.stretch));
  const fresh = told.stretches.filter((question) => !known.has(question.stretch));
  state.items.push(...fresh.map((question) => ({ ...question, counts: null, id: null, partly: false, seconds: 0 })));
  [left, isExhausted] = [told.left, fresh.length === 0];
  if (state.items.length > MOST_KEPT && state.at > MOST_KEPT / 2) {
    const old = state.items.splice(0, Math.min(state.at, frontier()) - MOST_KEPT / 2);
    state.at -= old.length;
  }
  save();
  if (page.querySelector("#nothing") && fresh.length) askNext();
  else if (page.querySelector("#fetching")) askNext();
  return true;
}

function refuse(reason) {
  if (reason === "foreign" || reason === "no token") askCode(el("div", { class: "error", role: "alert" }, say("foreign")));
  else present(say("closed_title"), el("p", {}, say("closed")));
  return "stop";
}

/** Commit what was said of a stretch: one line, which replaces the one before. `counts` is null where it is skipped. */
function commit(item, counts, partly = false) {
  item.seconds = Math.min(item.seconds + elapsed(), MOST_SECONDS);
  const id = newId();
  const seconds = Math.floor(10 * item.seconds) / 10;
  state.lines.push(padded({ campaign: data.wave, id, token, count: { stretch: item.stretch, counts, seconds, replaces: item.id } }));
  if (!isDone(item) && !partly) {
    state.total += 1;
    state.seconds += item.seconds;
    if (left !== null) left = Math.max(left - 1, 0);
  }
  Object.assign(item, { counts, id, partly });
  if (!partly) isExhausted = isExhausted && ahead() >= FEW;
  save();
  flush();
}

// -- time: only while somebody can look ---------------------------------------------------------------------------------

let held = 0;
const start = () => ([held, since] = [0, document.hidden ? 0 : performance.now()]);
const elapsed = () => {
  const seconds = (held + (since ? performance.now() - since : 0)) / 1000;
  start();
  return seconds;
};
document.addEventListener("visibilitychange", () => {
  if (document.hidden && since) [held, since] = [held + performance.now() - since, 0];
  else if (!document.hidden && !since) since = performance.now();
});

// -- a question -------------------------------------------------------------------------------------------------------

function askNext() {
  if (state.at >= state.items.length) return showNothing();
  if (state.total - state.rested >= BREAK && state.at === frontier()) return proposeBreak();
  const item = state.items[state.at];
  item.tag ??= 0;
  if (isLabel(item)) askLabel(item);
  else if ((data.ask === "one" || data.tags.length === 1) && item.words.length <= MOST_BUTTONS) askNumber(item);
  else askSteppers(item);
  start();
  return undefined;
}

/** The words of a sentence, those that are asked about marked; a screen reader hears which ones as well. */
function sentence(item) {
  const joined = (words) => el("span", {}, words.join(" "));
  const marked = el("mark", {}, item.words.join(" "));
  return el("p", { class: "text", dir: "auto" }, joined(item.before), " ", marked, " ", joined(item.after));
}

function show(item, title, ...controls) {
  const isSaid = item.id !== null && !item.partly;
  const undo = el("button", { type: "button", class: "second", id: "undo", disabled: state.at === 0 && item.tag === 0, click: goBack }, say("undo"));
  const onward = isSaid
    ? el("button", { type: "button", class: "second", id: "keep", click: goOn }, say("keep"))
    : el("button", { type: "button", class: "second", id: "skip", click: () => answer(item, null) }, say("skip"));
  const again = isSaid ? el("p", { class: "hint" }, say(item.counts === null ? "skipped" : "said")) : [];
  const asked = el("div", { class: "asked" }, sentence(item), again, ...controls, el("div", { class: "beside" }, undo, onward));
  present(title, el("div", { id: "progress" }, progress()), asked);
  page.prepend(page.querySelector("#progress"));
  tellKeys();
}

const tagged = (tag) => el("b", { dir: "auto" }, own(tag.names));

function askNumber(item) {
  const tag = data.tags[item.tag];
  const known = item.counts?.[item.tag];
  const numbers = Array.from({ length: item.words.length + 1 }, (_, n) =>
    el("button", { type: "button", class: "number", "data-key": n, "aria-pressed": known === n ? "true" : "false", click: () => tap(item, n) }, String(n)),
  );
  const title = [el("span", { class: "ask" }, say("how_many", { tag: tagged(tag), count: decimal(item.words.length) }))];
  show(item, title, el("div", { class: "numbers", role: "group", "aria-label": own(tag.names) }, numbers));
}

function tap(item, number) {
  const counts = data.tags.map((_, i) => (i === item.tag ? number : (item.counts?.[i] ?? null)));
  if (item.tag + 1 < data.tags.length) {
    const partly = counts.includes(null);
    item.tag += 1;
    commit(item, counts, partly && !isDone(item));
    return askNext();
  }
  return answer(item, counts);
}

function askLabel(item) {
  const chosen = item.counts === null ? -1 : item.counts.indexOf(1) < 0 ? data.tags.length : item.counts.indexOf(1);
  const choices = [...data.tags, ...(data.rest ? [data.rest] : [])].map((tag, i) => {
    const counts = data.tags.map((_, j) => (i === j ? 1 : 0));
    const options = { type: "button", class: "label", "data-key": i + 1, "aria-pressed": chosen === i && isDone(item) ? "true" : "false" };
    return el("button", { ...options, click: () => answer(item, counts) }, el("bdi", {}, own(tag.singular)));
  });
  const word = el("b", { dir: "auto" }, item.words[0]);
  show(item, say("what_is", { word }), el("div", { class: "labels", role: "group", "aria-label": item.words[0] }, choices));
}

function askSteppers(item) {
  // People count one too many at times: where that is refused, or cut, nobody can tell how often. The server takes the same.
  const most = item.words.length + 1;
  const rows = data.tags.map((tag, i) => {
    const id = `tag-${i}`;
    const field = el("input", { id, name: id, inputmode: "numeric", value: String(item.counts?.[i] ?? 0), autocomplete: "off" });
    const step = (by, sign, key) => {
      const click = () => (field.value = String(Math.min(Math.max((Number(field.value) || 0) + by, 0), most)));
      return el("button", { type: "button", class: "step", click, "aria-label": `${own(tag.names)}: ${sign}`, "data-step": key }, sign);
    };
    return el("div", { class: "stepper" }, el("label", { for: id }, el("bdi", {}, own(tag.names))), step(-1, "−", `${i}-`), field, step(1, "+", `${i}+`));
  });
  const submit = (asked) => {
    const counts = data.tags.map((_, i) => Number(asked.elements[`tag-${i}`].value.trim() || NaN));
    const isRight = (number) => Number.isInteger(number) && number >= 0 && number <= most;
    const wrong = counts.findIndex((number) => !isRight(number));
    if (wrong < 0) return answer(item, counts);
    asked.querySelector(".error")?.remove();
    asked.prepend(el("p", { class: "error", role: "alert", id: "error" }, say("number", { most: decimal(most) })));
    return asked.elements[`tag-${wrong}`].focus();
  };
  const fields = el("fieldset", {}, el("legend", { class: "hidden" }, say("counts")), rows);
  show(item, say("how_many_each", { count: decimal(item.words.length) }), form(submit, fields, button("next")));
}

function answer(item, counts) {
  item.tag = 0;
  commit(item, counts);
  return goOn();
}

/** Go on with the first stretch of which nothing was said. */
function goOn() {
  state.items[state.at].tag = 0;
  state.at = frontier();
  return askNext();
}

function goBack() {
  const item = state.items[state.at];
  if (item?.tag > 0) item.tag -= 1;
  else if (state.at > 0) {
    state.at -= 1;
    const before = state.items[state.at];
    before.tag = data.ask === "one" && !isLabel(before) && before.words.length <= MOST_BUTTONS && before.counts !== null ? data.tags.length - 1 : 0;
  }
  return askNext();
}

// -- between questions ------------------------------------------------------------------------------------------------

function progress() {
  const pace = state.total ? [" · ", say("pace", { seconds: decimal(Math.round(state.seconds / state.total)) })] : [];
  const ahead = left === null ? [] : [" · ", say("left", { count: decimal(left) })];
  const share = left === null || state.total + left === 0 ? 0 : state.total / (state.total + left);
  const bar = el("svg", { class: "done", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" });
  bar.append(el("rect", { class: "rest", width: 100, height: 4 }), el("rect", { class: "part", width: 100 * share, height: 4 }));
  return [el("p", { class: "hint" }, say("told", { count: decimal(state.total) }), pace, ahead), bar, el("p", { id: "status", class: "hint", role: "status" }, status())];
}

function status() {
  if (isOnline || !state.lines.length) return [];
  return say(data.forgets ? "waiting_memory" : "waiting", { count: decimal(state.lines.length) });
}

function tellStatus() {
  byId("status")?.replaceChildren(...status());
  tellWhatIsKnown();
}

function proposeBreak() {
  state.rested = state.total;
  save();
  const pace = decimal(Math.round(state.seconds / Math.max(state.total, 1)));
  const undo = el("button", { type: "button", class: "second", id: "undo", click: goBack }, say("undo"));
  present(say("break_title", { count: decimal(state.total) }), el("p", {}, say("break", { seconds: pace })), form(askNext, button("go_on")), undo);
}

function showNothing() {
  const undo = state.at > 0 ? el("button", { type: "button", class: "second", id: "undo", click: goBack }, say("undo")) : [];
  if (!isExhausted) {
    present(say("fetching_title"), el("p", { id: "fetching" }, say("fetching")), el("div", { id: "progress" }, progress()), undo);
    return flush();
  }
  const look = () => {
    isExhausted = false;
    flush();
  };
  const retry = el("button", { type: "button", id: "look", click: look }, say("look_again"));
  present(say("done_title"), el("p", { id: "nothing" }, say("done")), el("div", { id: "progress" }, progress()), el("div", { class: "beside" }, undo, retry));
  return undefined;
}

function askCode(...before) {
  const taken = (text) => {
    token = text;
    return begin();
  };
  present(say("code_title"), before, codeForm(taken));
}

function introduce() {
  const start = () => {
    isBegun = true;
    askNext();
  };
  const points = ["intro_how", "intro_doubt", "intro_sent"].map((key) => el("p", {}, say(key)));
  present(own(data.titles), points, form(start, button("begin")));
}

// -- the keyboard -----------------------------------------------------------------------------------------------------

/** Digits answer, U takes back, S skips; not while somebody writes, and not where it was turned off. */
addEventListener("keydown", (event) => {
  if (!state.keys || event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input, select, summary")) return;
  const keys = { u: "#undo", Backspace: "#undo", s: "#skip, #keep" };
  const target = /^\d$/.test(event.key) ? `[data-key="${event.key}"]` : keys[event.key];
  const found = target && page.querySelector(target);
  if (!found || found.disabled) return;
  event.preventDefault();
  found.click();
});

function tellKeys() {
  const change = (event) => {
    state.keys = event.target.checked;
    save();
  };
  const box = el("input", { type: "checkbox", id: "use-keys", checked: state.keys, change });
  byId("keys").replaceChildren(
    el("summary", {}, say("keys")),
    el("div", { class: "choice" }, box, el("label", { for: "use-keys" }, say("keys_use"))),
    el("p", { class: "hint" }, say("keys_which")),
  );
}

function tellWhatIsKnown() {
  const host = new URL(data.address, location.href).host;
  const last = state.items.findLast((item) => item.id !== null);
  const shown = last ? JSON.stringify({ stretch: last.stretch, counts: last.counts, seconds: Math.floor(10 * last.seconds) / 10 }) : "…";
  byId("knows").replaceChildren(
    el("summary", {}, say("knows")),
    el("p", {}, say("knows_sent")),
    el("pre", { dir: "ltr", tabindex: "0" }, shown),
    el("p", {}, say("knows_kept", { host })),
  );
}

// -- the beginning ----------------------------------------------------------------------------------------------------

async function begin() {
  place = await shelf(token);
  const text = await kept(token);
  if (text) Object.assign(state, JSON.parse(text));
  state.at = frontier();
  isExhausted = false;
  tellWhatIsKnown();
  if (state.total || isBegun) askNext();
  else introduce();
  return flush();
}

/** With an open link a device makes up who it is, so that its counts belong together. */
function ownToken() {
  const letters = "abcdefghijklmnopqrstuvwxyz234567";
  const drawn = Array.from(crypto.getRandomValues(new Uint8Array(25)), (byte) => letters[byte & 31]).join("");
  // the last letter has bits to spare
  return `${drawn}a`;
}

async function open() {
  speak(data.language);
  offerLanguages();
  token = readToken(location.hash.slice(1));
  if (data.access === "open") {
    token = (await kept("own")) ?? ownToken();
    await keep("own", token);
  }
  if (token) await begin();
  else askCode();
}

/** One window at a time: two would each think that what the other counted is still to be counted. */
addEventListener("hashchange", () => location.reload());
navigator.locks
  .request(`askance ${data.campaign}`, { ifAvailable: true }, async (lock) => {
    if (!lock) return present(say("elsewhere_title"), el("p", {}, say("elsewhere")));
    await open();
    return new Promise(() => {});
  })
  .catch(() => page.replaceChildren(el("p", {}, say("started"))));
