// The survey page: one question at a time, noised on this device, sent at the end in one request of one length.
//
// What is true is in the memory of this page until the person says "roll and send", and nowhere else. Then every
// protected answer is drawn once; only what was drawn is kept, until the server has it. It is shown when it has arrived,
// never before: who could look first and leave would make the results wrong. Texts are only ever set as text.

import { reportFromWords } from "./askance-device.js";
import { chance, die, drawing, quoted, rule } from "./chance.js";
import {
  button, byId, codeForm, complain, data, decimal, el, form, keep, kept, newId, offerLanguages, own, padded, page, post, present,
  readToken, say, shelf, speak, spoken,
} from "./page.js";

const survey = data;
const { questions } = survey;
// reports are called like answers
for (const question of questions) question.observations ??= question.options;
const protectedOnes = questions.filter((question) => question.device);
// longer lists are chosen from a menu
const MOST_RADIOS = 12;
// seconds between two tries, if nothing else says that there is a connection
const LONGEST_WAIT = 60;
// tenths of a second that pass before another window has certainly gone away without keeping anything
const MOST_LOOKS = 30;

const state = { token: null, own: false, answers: {}, isCommitted: false, line: null, sent: false };
// steps
state.at = state.furthest = 0;
let steps = [];
// the numbers that were drawn, by question: in memory only, for with the report they tell the truth
const rolls = {};

function show(title, ...content) {
  present(title, ...content);
  // a change loads the page again
  byId("languages").hidden = state.at > 0 && !survey.is_file;
  tellWhatIsKnown();
}

// -- going through the steps ------------------------------------------------------------------------------------------

function go(at, isNew = true) {
  state.at = at;
  state.furthest = Math.max(state.furthest, at);
  if (isNew) history.pushState({ at }, "");
  steps[at]();
}

const next = () => go(state.at + 1);

function back() {
  return state.at === 0 || state.isCommitted ? [] : el("button", { type: "button", class: "back", click: () => history.back() }, say("back"));
}

addEventListener("popstate", (event) => {
  if (!state.isCommitted && state.line === null && !state.sent) go(Math.min(event.state?.at ?? 0, state.furthest), false);
});

function allSteps() {
  const sensitive = questions.indexOf(protectedOnes[0]);
  const before = [askSafety, ...(survey.comprehension_check ? [askUnderstanding] : [])];
  const asking = (question, i) => Object.assign(() => askQuestion(question, i + 1), { question });
  const asked = questions.map(asking);
  if (sensitive >= 0) asked.splice(sensitive, 0, ...before);
  return [...(survey.access === "tokens" && !state.token ? [askCode] : []), askConsent, ...asked, askCommitment];
}

function askCode() {
  const taken = async (token) => {
    state.token = token;
    // as if it had been in the link: who loads the page again goes on
    history.replaceState(history.state, "", `#${token}`);
    if (state.line === null) return (await resume()) || next();
    // a slip of the pen changes nothing of what was drawn
    state.line = padded({ ...JSON.parse(state.line), token });
    await keep(token, state.line);
    return deliver();
  };
  show(say("code_title"), back(), codeForm(taken, state.token));
}

function askConsent() {
  const told = survey.consent ? own(survey.consent).split(/\n+/) : [say("consent")];
  const texts = told.map((text) => el("p", { dir: survey.consent ? "auto" : null }, text));
  show(own(survey.titles), back(), texts, form(next, button("agree")));
}

function askUnderstanding() {
  const report = quoted(protectedOnes[0].observations.at(-1));
  const choices = [choice("yes", say("check_yes")), choice("no", say("check_no"))];
  const submit = (asked) => {
    const chosen = new FormData(asked).get("answer");
    if (chosen === "no") return next();
    return complain(asked, say(chosen ? "check_wrong" : "choose"));
  };
  const legend = el("legend", {}, say("check", { report }));
  show(say("check_title"), back(), form(submit, el("fieldset", {}, legend, choices), button("next")));
}

function choice(value, text, { checked = false, note = null } = {}) {
  const id = `choice-${value}`;
  const input = el("input", { type: "radio", name: "answer", value, id, checked, "aria-describedby": note && `${id}-note` });
  const label = el("label", { for: id, dir: "auto" }, text);
  return el("div", { class: "choice" }, input, label, note ? el("p", { class: "hint", id: `${id}-note` }, note) : []);
}

// -- questions --------------------------------------------------------------------------------------------------------

function askQuestion(question, number) {
  const rolled = question.device && state.own;
  const options = rolled ? question.observations : question.options;
  const known = state.answers[question.name] ?? {};
  const submit = (asked) => {
    const answer = answerOf(question, options, asked);
    if (!answer) return complain(asked, question.range ? say("number", limits(question)) : say("choose"));
    state.answers[question.name] = answer;
    return next();
  };
  const place = el("p", { class: "place" }, say("place", { number, count: questions.length }));
  const mark = el("p", { class: question.device ? "mark protected" : "mark" }, say(question.device ? "protected" : "open"));
  const heading = el("legend", {}, el("h1", { dir: "auto" }, own(question.texts)));
  const how = rolled ? [el("p", {}, say("own_how", { sides: question.sides })), rule(question, true)] : [];
  const fields = question.range ? numberField(question, known) : choices(options, known);
  const decline = question.may_decline ? declining(known, rolled) : [];
  const more = question.device && !rolled ? el("details", {}, el("summary", {}, say("how")), chance(question)) : [];
  show(null, back(), place, form(submit, el("fieldset", {}, heading, mark, how, fields, decline), button("next")), more);
}

const limits = (question) => ({ least: decimal(question.range[0]), most: decimal(question.range[1]) });

function numberField(question, known) {
  const hint = el("p", { class: "hint", id: "hint" }, say("number", limits(question)));
  const value = known.number ?? "";
  const labels = { "aria-label": own(question.texts), "aria-describedby": "hint" };
  const size = Math.max(...question.range.map((end) => String(end).length)) + 1;
  return [hint, el("input", { name: "number", inputmode: question.range[0] < 0 ? "text" : "numeric", size, value, ...labels })];
}

function choices(options, known) {
  if (options.length <= MOST_RADIOS) {
    return options.map((option, i) => choice(String(i), own(option.texts), { checked: known.place === i }));
  }
  const listed = options.map((option, i) => el("option", { value: String(i), selected: known.place === i }, own(option.texts)));
  const first = el("option", { value: "" }, say("select"));
  return [el("label", { for: "menu", class: "hint" }, say("select")), el("select", { name: "menu", id: "menu" }, first, listed)];
}

function declining(known, rolled) {
  const note = [say("decline_note"), rolled ? [" ", say("own_decline")] : []].flat(2);
  return [el("p", { class: "or" }, say("or")), choice("decline", say("decline"), { checked: known.declined, note })];
}

/** What was chosen; null where nothing was, or what cannot be. */
function answerOf(question, options, asked) {
  const fields = new FormData(asked);
  const chosen = fields.get("answer") ?? fields.get("menu") ?? "";
  if (question.range) {
    const digits = (fields.get("number") ?? "").trim().replace(/[٠-٩۰-۹]/g, (digit) => digit.charCodeAt(0) & 15);
    if (chosen === "decline" && digits === "") return { declined: true };
    const number = /^[-−]?\d{1,16}$/.test(digits) ? Number(digits.replace("−", "-")) : NaN;
    return number >= question.range[0] && number <= question.range[1] ? { number } : null;
  }
  if (chosen === "decline") return { declined: true };
  return chosen === "" || !options[Number(chosen)] ? null : { place: Number(chosen) };
}

// -- why it is safe ---------------------------------------------------------------------------------------------------

const icon = (name) => el("svg", { class: "icon", viewBox: "0 0 48 48", "aria-hidden": "true" }, el("use", { href: `#${name}` }));

function oddsBar(key, share) {
  const bar = el("svg", { class: "odds", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" });
  bar.append(el("rect", { class: "rest", width: 100, height: 8 }), el("rect", { class: "likely", width: 100 * share, height: 8 }));
  return el("div", {}, el("p", { class: "hint" }, say(key, { factor: decimal(survey.factor) })), bar);
}

function askSafety() {
  const told = { count: protectedOnes.length, factor: decimal(survey.factor) };
  const picture = el(
    "ol",
    { class: "safe" },
    el("li", {}, icon("answer"), el("p", {}, say("safe_answer"))),
    el("li", {}, icon("chance"), el("div", {}, el("p", {}, say("safe_chance")), chance(protectedOnes[0]))),
    el("li", {}, icon("sent"), el("p", {}, say("safe_sent"))),
  );
  const odds = [oddsBar("odds_before", 1 / 2), oddsBar("odds_after", survey.factor / (1 + survey.factor))];
  const sentence = el("p", { class: "sentence" }, say(protectedOnes.length > 1 ? "odds_all" : "odds_one", told));
  const open = protectedOnes.length < questions.length ? el("p", {}, say("safe_open")) : [];
  const submit = (asked) => {
    const mine = new FormData(asked).get("answer") === "own";
    if (mine !== state.own) for (const question of protectedOnes) delete state.answers[question.name];
    state.own = mine;
    next();
  };
  const asked = form(submit, survey.own_die ? whoRolls() : [], button("next"));
  show(say("safe_title"), back(), picture, el("div", { class: "figure" }, odds, sentence), open, asked);
}

function whoRolls() {
  const sides = [...new Set(protectedOnes.map((question) => question.sides))].join(", ");
  const mine = choice("own", say("i_roll"), { checked: state.own, note: say("i_roll_note", { sides }) });
  const legend = el("legend", {}, el("h2", {}, say("who_rolls")));
  return el("fieldset", {}, legend, choice("page", say("page_rolls"), { checked: !state.own }), mine);
}

// -- drawing, keeping, sending ----------------------------------------------------------------------------------------

function askCommitment() {
  const draws = !state.own && protectedOnes.some((question) => !state.answers[question.name]?.declined);
  const texts = draws ? ["commit_text", "commit_later"] : ["plain_text"];
  const paragraphs = texts.map((key) => el("p", {}, say(key)));
  show(say(draws ? "commit_title" : "plain_title"), back(), paragraphs, form(commit, button(draws ? "commit" : "send")));
}

async function commit() {
  const missing = steps.findIndex(({ question }) => question && !state.answers[question.name]);
  if (missing >= 0) return go(missing);
  // pressed twice
  if (state.isCommitted) return undefined;
  state.isCommitted = true;
  const earlier = await alone(async (looks) => {
    let text = await kept(state.token);
    // windows are processes: the lock of another one may be here before what it kept
    for (; text === null && looks; looks--) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      text = await kept(state.token);
    }
    if (text === null) await draw();
    return text;
  });
  // of another window of this browser, which was first
  return earlier === null ? deliver() : goOn(earlier);
}

async function draw() {
  const answers = Object.fromEntries(questions.map((question) => [question.name, drawn(question)]));
  state.line = padded({ campaign: survey.wave, id: newId(), token: state.token, answers });
  // what is true is forgotten
  state.answers = {};
  await keep(state.token, state.line);
}

/** Work that no other window of this browser does at the same time for the same person: two do not draw at once. It is
 *  told how many more looks it should take at what was kept: some where another window was at it. */
async function alone(work) {
  let [release, looks] = [() => {}, 0];
  const held = (resolve) => (lock) => (resolve(lock), lock && new Promise((done) => (release = done)));
  try {
    const name = await shelf(state.token);
    const ask = (how) => new Promise((resolve, reject) => navigator.locks.request(name, how, held(resolve)).catch(reject));
    if (!(await ask({ ifAvailable: true }))) looks = (await ask({}), MOST_LOOKS);
  } catch {
    // a browser without locks
  }
  try {
    return await work(looks);
  } finally {
    release();
  }
}

/** What is sent of an answer. A protected one is drawn here, once, from a fresh word of the browser's secure source. The
 *  word is not made of the code: whoever handed out the codes could undo the noise. */
function drawn(question) {
  const answer = state.answers[question.name];
  if (answer.declined) return null;
  if (question.range) return answer.number;
  if (!question.device) return question.options[answer.place].label;
  if (state.own) return question.observations[answer.place].label;
  const words = crypto.getRandomValues(new BigUint64Array(1));
  rolls[question.name] = words[0] >> 2n;
  return reportFromWords(question.device, question.options[answer.place].label, words).report;
}

async function deliver() {
  byId("languages").replaceChildren();
  show(say("sending"), el("svg", { class: "draw", viewBox: "0 0 100 100", "aria-hidden": "true" }, el("g", { class: "busy" }, die(6, 5))));
  for (let wait = 1; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    byId("again")?.replaceChildren(...say("sending"));
    const outcome = await post(state.line);
    if (outcome) return settle(outcome);
    if (byId("again")) byId("again").replaceChildren(...say("again"));
    else showWaiting();
    await new Promise((resolve) => {
      byId("again").addEventListener("click", resolve, { once: true });
      addEventListener("online", resolve, { once: true });
      setTimeout(resolve, 1000 * wait);
    });
  }
}

function showWaiting() {
  const retry = el("button", { type: "button", id: "again" }, say("again"));
  show(say("waiting_title"), el("p", { role: "status" }, say(survey.forgets ? "waiting_memory" : "waiting")), retry);
}

async function settle({ verdict, reason }) {
  if (verdict === "T" || verdict === "K") {
    const { id } = JSON.parse(state.line);
    await keep(state.token, JSON.stringify({ receipt: id }));
    state.sent = true;
    return showDone(id);
  }
  if (verdict === "F") {
    askCode();
    return complain(page.querySelector("form"), el("strong", {}, say("foreign_title")), el("br"), say("foreign"));
  }
  const key = verdict === "S" ? "spent" : reason?.reason === "closed" ? "closed" : "refused";
  // it will never be taken, and need not lie about
  if (key !== "refused") await keep(state.token, null);
  return show(say(`${key}_title`), el("p", {}, say(key, { reason: reason?.what ?? verdict })));
}

function showDone(id) {
  const reveal = el("button", { type: "button", class: "second", id: "show", click: showSent }, say("show"));
  const offer = state.line === null ? [] : el("div", { id: "sent" }, el("p", { class: "hint" }, say("show_note")), reveal);
  const receipt = el("div", { class: "figure" }, el("h2", {}, say("receipt")), el("code", { id: "receipt" }, id));
  show(say("done_title"), receipt, el("p", {}, say("receipt_note")), offer);
}

function showSent() {
  const { answers } = JSON.parse(state.line);
  const isLost = !state.own && Object.keys(rolls).length === 0 && protectedOnes.length > 0;
  const items = questions.map((question) => {
    const heading = el("h3", { dir: "auto" }, own(question.texts));
    return el("li", {}, heading, el("div", { class: "drawing" }, sentOf(question, answers[question.name])));
  });
  const note = isLost ? el("p", { class: "hint" }, say("forgotten")) : [];
  const title = el("h2", { tabindex: "-1" }, say("sent_title"));
  byId("sent").replaceChildren(...[title, note, el("ul", { class: "sent" }, items)].flat());
  title.focus();
}

function sentOf(question, answer) {
  if (answer === null) return el("p", {}, say("was_declined"));
  if (question.device) return drawing(question, answer, rolls[question.name]);
  const report = question.range ? decimal(answer) : quoted(question.options.find((option) => option.label === answer));
  return el("p", {}, say("was_sent", { report }));
}

// -- what this page knows ---------------------------------------------------------------------------------------------

function payload() {
  if (state.line !== null) return state.sent ? state.line.trimEnd() : say("knows_sealed");
  const undrawn = say("knows_undrawn").map((node) => node.textContent ?? node).join("");
  const shown = (question) => {
    const answer = state.answers[question.name];
    return question.device && !state.own && !answer?.declined ? undrawn : answer ? drawn(question) : "…";
  };
  const answers = Object.fromEntries(questions.map((question) => [question.name, shown(question)]));
  return JSON.stringify({ campaign: survey.wave, id: undrawn, token: state.token, answers }, null, 1);
}

function tellWhatIsKnown() {
  const host = new URL(survey.address, location.href).host;
  byId("knows").replaceChildren(
    el("summary", {}, say("knows")),
    el("p", {}, say("knows_payload", { length: survey.length })),
    el("pre", { id: "payload", dir: "ltr", tabindex: "0" }, payload()),
    el("p", {}, say("knows_kept", { host })),
    el("p", {}, say("knows_script"), " ", el("code", {}, survey.digest)),
    el("p", {}, say("knows_server")),
    el("p", {}, say("knows_file"), " ", survey.own_die ? say("knows_own") : []),
  );
}

// -- the beginning ---------------------------------------------------------------------------------------------------

/** Go on with what was drawn before, if anything was. */
async function resume() {
  const text = await kept(state.token);
  if (text !== null) await goOn(text);
  return text !== null;
}

async function goOn(text) {
  state.answers = {};
  const content = JSON.parse(text);
  if (content.receipt) {
    state.sent = true;
    showDone(content.receipt);
  } else {
    state.line = text;
    await deliver();
  }
}

async function start() {
  if (survey.access === "tokens") state.token = readToken(location.hash.slice(1));
  if (survey.is_file) speak(survey.languages.find((code) => navigator.languages.some((wanted) => wanted.startsWith(code))) ?? spoken.language);
  else speak(spoken.language);
  offerLanguages(() => go(state.at, false));
  steps = allSteps();
  history.replaceState({ at: 0 }, "");
  if (!(state.token || survey.access === "open") || !(await resume())) go(0, false);
}

// another code: another person
addEventListener("hashchange", () => location.reload());
addEventListener("beforeunload", (event) => {
  // it would be lost
  if (survey.forgets && state.line !== null && !state.sent) event.preventDefault();
});
start().catch(() => page.replaceChildren(el("p", {}, say("started"))));
