// What the pages for people share: elements, sentences in the language of the person, and lines that are kept until the
// server has them. Texts are only ever set as text.

export const data = JSON.parse(document.querySelector('script[type="application/json"]').textContent);
export const byId = (id) => document.getElementById(id);
export const page = byId("page");
export const spoken = { language: data.language };
// milliseconds that a request gets before it is tried again
const GIVE_UP = 30_000;
const DRAWN = new Set(["svg", "g", "rect", "circle", "path", "text", "use"]);

export function el(tag, attributes = {}, ...children) {
  const node = DRAWN.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== false && value !== null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(2));
  return node;
}

/** A sentence of this page in the language of the person. What is filled in cannot change the direction of the rest. */
export function say(key, values = {}) {
  const known = data.strings[spoken.language];
  const parts = (known ?? data.strings.en)[key].split(/\{(\w+)\}/);
  const nodes = parts.map((part, i) => (i % 2 ? el("bdi", {}, values[part]) : part));
  return known ? nodes : [el("span", { lang: "en", dir: "ltr" }, nodes)];
}

/** A text of the campaign. */
export const own = (texts) => texts[spoken.language] ?? Object.values(texts)[0];
export const decimal = (value) =>
  new Intl.NumberFormat(spoken.language, { numberingSystem: "latn", maximumFractionDigits: 2 }).format(value);

/** Fill the page; who cannot see it is told its heading. */
export function present(title, ...content) {
  page.replaceChildren(...content.flat());
  if (title !== null) {
    const heading = el("h1", { dir: "auto" }, title);
    const first = page.querySelector(".back");
    if (first) first.after(heading);
    else page.prepend(heading);
  }
  const heading = page.querySelector("h1");
  heading.tabIndex = -1;
  document.title = `${heading.textContent} – ${own(data.titles)}`;
  heading.focus({ preventScroll: true });
  scrollTo(0, 0);
}

export const button = (key) => el("button", { type: "submit" }, say(key));

export function form(submit, ...content) {
  const asked = (event) => {
    event.preventDefault();
    submit(event.target);
  };
  return el("form", { method: "dialog", novalidate: true, autocomplete: "off", submit: asked }, ...content);
}

/** Say what is missing, before the fields, and bring the person there. */
export function complain(asked, ...what) {
  asked.querySelector(".error")?.remove();
  const fields = asked.querySelector("fieldset") ?? asked.querySelector("input, select");
  fields.setAttribute("aria-describedby", "error");
  asked.prepend(el("div", { class: "error", id: "error", role: "alert" }, el("strong", {}, say("wrong")), el("p", {}, ...what)));
  asked.querySelector("input, select").focus();
}

/** The form that asks for a code. */
export function codeForm(taken, value = null) {
  const typing = { autocapitalize: "none", spellcheck: "false", dir: "ltr", value };
  const field = el("input", { id: "code", "aria-describedby": "hint", ...typing });
  const submit = (asked) => {
    const token = readToken(field.value);
    return token ? taken(token) : complain(asked, say("code_wrong"));
  };
  const label = el("label", { for: "code" }, say("code"));
  return form(submit, el("p", { class: "hint", id: "hint" }, say("code_note")), label, field, button("next"));
}

/** The letters of a code as they are sent; null for what cannot be one: the last letter has two bits to spare. */
export function readToken(text) {
  const plain = text.replace(/[-\s]/g, "").toLowerCase();
  return /^[a-z2-7]{25}[aeimquy4]$/.test(plain) ? plain : null;
}

// -- lines that are sent ----------------------------------------------------------------------------------------------

const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const newId = () => hexOf(crypto.getRandomValues(new Uint8Array(16)));

/** A line of the length that all lines of this campaign have. */
export function padded(content) {
  const text = JSON.stringify(content);
  return text + " ".repeat(data.length - 1 - new TextEncoder().encode(text).length) + "\n";
}

/** Where something of a person is kept: under a digest, so that two people can use one device, and no code stays behind. */
export async function shelf(token) {
  const name = new TextEncoder().encode(`${data.campaign} ${data.wave} ${token ?? ""}`);
  return `askance ${hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", name)).subarray(0, 16))}`;
}

export async function keep(token, text) {
  try {
    if (text === null) localStorage.removeItem(await shelf(token));
    else localStorage.setItem(await shelf(token), text);
  } catch {
    // storage is full or forbidden: the page says that it must stay open
    data.forgets = true;
  }
}

export async function kept(token) {
  try {
    return localStorage.getItem(await shelf(token));
  } catch {
    data.forgets = true;
    return null;
  }
}

/** What the server says, or null where nobody knows whether it heard: the same line must be sent again. */
export async function ask(address, body) {
  try {
    const options = { method: "POST", body, credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" };
    const answer = await fetch(address, { ...options, signal: AbortSignal.timeout(GIVE_UP) });
    const told = await answer.json();
    return answer.status >= 500 || answer.status === 429 ? null : told;
  } catch {
    // no network, a tunnel, or somebody in between who speaks no JSON
    return null;
  }
}

/** What became of a line: a letter and a reason. */
export async function post(line) {
  const told = await ask(data.address, line);
  if (!told) return null;
  if (typeof told.verdicts === "string") return { verdict: told.verdicts, reason: told.refused[0] };
  return { verdict: "R", reason: { reason: "", what: told.error } };
}

// -- languages --------------------------------------------------------------------------------------------------------

export function speak(language) {
  spoken.language = language;
  document.documentElement.lang = language;
  document.documentElement.dir = data.right_to_left.includes(language) ? "rtl" : "ltr";
  byId("title").textContent = own(data.titles);
}

export function offerLanguages(changed = () => {}) {
  if (data.languages.length < 2) return;
  const name = (code) => new Intl.DisplayNames([code], { type: "language" }).of(code);
  const options = data.languages.map((code) => el("option", { value: code, lang: code, selected: code === spoken.language }, name(code)));
  const change = (event) => {
    const code = event.target.value;
    if (!data.local.includes(code)) return location.assign(`?lang=${code}${location.hash}`);
    speak(code);
    offerLanguages(changed);
    return changed();
  };
  const menu = el("select", { id: "language", change }, options);
  byId("languages").replaceChildren(el("label", { for: "language" }, say("language")), menu);
}
