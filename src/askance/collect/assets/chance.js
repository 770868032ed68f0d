// What chance does to an answer, in words and pictures: the rule of a question before the draw, and the very draw after it.
// Faces, parts and thresholds come with the question; nothing is random here.

import { decimal, el, own, say } from "./page.js";

// of a bar that has room for numbers
const MOST_CELLS = 8;
const TOTAL = 2 ** 62;

export const quoted = (option) => el("q", { dir: "auto" }, own(option.texts));

function kindOf(question, part) {
  if (new Set(part.reports).size === 1) return "fixed";
  return question.observations === question.options && part.reports.every((report, answer) => report === answer) ? "own" : "turned";
}

/** The faces of every part as people write them; numbers of parts where there is no die. */
function facesOf(question) {
  return question.parts.map((part, i) => {
    const first = i === 0 ? 1 : question.parts[i - 1].face + 1;
    return question.sides === 0 ? `${i + 1}` : first === part.face ? `${first}` : `${first}–${part.face}`;
  });
}

const starts = (question) => [0, ...question.parts.map((part) => Number(part.until) / TOTAL)];

export function rule(question, mine = false) {
  const [ends, faces] = [starts(question), facesOf(question)];
  const isFine = faces.length > MOST_CELLS;
  const cells = question.parts.map((part, i) => {
    const cell = el("span", { class: kindOf(question, part), dir: "ltr" }, isFine ? "" : faces[i]);
    cell.style.flexGrow = ends[i + 1] - ends[i];
    return cell;
  });
  const lines = question.parts.map((part, i) => {
    const share = question.sides ? "" : ` (${decimal(100 * (ends[i + 1] - ends[i]))} %)`;
    return el("li", {}, el("b", {}, el("bdi", { dir: "ltr" }, faces[i] + share)), ": ", meaning(question, part, mine));
  });
  return [el("div", { class: isFine ? "bar fine" : "bar", "aria-hidden": "true" }, cells), el("ul", { class: "rule" }, lines)];
}

function meaning(question, part, mine) {
  const kind = kindOf(question, part);
  const keys = mine ? { fixed: "own_fixed", own: "own_true", turned: "own_turned" } : { fixed: "fixed", own: "own", turned: "turned" };
  if (kind !== "turned") return say(keys[kind], { report: quoted(question.observations[part.reports[0]]) });
  const pairs = part.reports.map((report, answer) => ({
    answer: quoted(question.options[answer]),
    report: quoted(question.observations[report]),
  }));
  return pairs.map((pair, i) => [i ? "; " : "", say(keys.turned, pair)]).flat(2);
}

export function chance(question) {
  const key = question.sides === 0 ? "with_wheel" : question.sides === 2 ? "with_coin" : "with_die";
  return el("div", { class: "chance" }, el("p", {}, say(key, { sides: question.sides })), rule(question));
}

const PIPS = [[], [4], [0, 8], [0, 4, 8], [0, 2, 6, 8], [0, 2, 4, 6, 8], [0, 2, 3, 5, 6, 8]];

export function die(sides, face) {
  const pips = (PIPS[face] ?? []).map((at) => el("circle", { cx: 26 + 24 * (at % 3), cy: 26 + 24 * Math.floor(at / 3), r: 7 }));
  const label = el("text", { x: 50, y: 52, "text-anchor": "middle", "dominant-baseline": "middle" }, String(face));
  const outline = el("rect", { x: 6, y: 6, width: 88, height: 88, rx: sides === 2 ? 44 : 18 });
  return el("g", { class: "die" }, outline, sides === 6 ? pips : label);
}

/** A wheel with its parts, turned so that the number is under the pointer. */
function wheel(question, number) {
  const at = (share) => `${50 + 44 * Math.sin(2 * Math.PI * share)} ${50 - 44 * Math.cos(2 * Math.PI * share)}`;
  const ends = starts(question);
  const slices = question.parts.map((part, i) => {
    const large = ends[i + 1] - ends[i] > 0.5 ? 1 : 0;
    return el("path", { class: kindOf(question, part), d: `M50 50L${at(ends[i])}A44 44 0 ${large} 1 ${at(ends[i + 1])}Z` });
  });
  const turned = el("g", { transform: `rotate(${(-360 * Number(number)) / TOTAL} 50 50)` }, slices);
  return [el("g", { class: "wheel" }, turned), el("path", { class: "pointer", d: "M50 12l-7-12h14z" })];
}

/** The very draw: the number that was used (undefined where it is forgotten), where it fell, and what that meant. */
export function drawing(question, label, number) {
  const report = quoted(question.observations.find((option) => option.label === label));
  if (number === undefined) return [el("p", {}, say("was_sent", { report }))];
  const place = question.parts.findIndex((part) => number < BigInt(part.until));
  const part = question.parts[place];
  const rolled = 1 + Math.floor((question.sides * Number(number)) / TOTAL);
  // thresholds are those of faces up to a last bit
  const first = place ? question.parts[place - 1].face + 1 : 1;
  const face = question.sides ? Math.min(Math.max(rolled, first), part.face) : place + 1;
  const key = question.sides === 0 ? "wheel_shows" : question.sides === 2 ? "coin_shows" : "die_shows";
  const picture = question.sides ? die(question.sides, face) : wheel(question, number);
  return [
    el("svg", { class: "draw", viewBox: "0 0 100 100", "aria-hidden": "true" }, picture),
    el("p", {}, say(key, { face }), " ", say(`was_${kindOf(question, part)}`, { report })),
  ];
}
