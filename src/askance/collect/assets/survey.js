// The page of a survey: noises what must be noised, keeps what it drew until it is acknowledged, and sends all at once.
// Nothing of a truth is kept or sent; texts are only ever set as text.

const body = document.body;
const base = `/v1/${body.dataset.campaign}`;
const form = document.getElementById("survey");
const say = (text) => { document.getElementById("status").textContent = text; };

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

// One observation from one 64-bit word: the number of cumulative thresholds at or below it. All of them are looked at,
// whatever the answer is.
function draw(weights) {
  const word = crypto.getRandomValues(new BigUint64Array(1))[0] >> 2n;
  let code = 0, sum = 0n;
  for (const weight of weights) {
    sum += BigInt(weight);
    code += Number(word >= sum);
  }
  return code;
}

function answerOf(question) {
  if (question.range) {
    const text = form.elements[question.name].value;
    return text === "" ? null : Number(text);
  }
  const chosen = form.querySelector(`input[name="${CSS.escape(question.name)}"]:checked`);
  if (chosen === null) return null;
  const number = Number(chosen.value);
  if (question.channel === null) return question.options[number].label;
  return question.channel.observations[draw(question.channel.thresholds.columns[number])];
}

function padded(content, length) {
  const text = JSON.stringify(content);
  const missing = length - 1 - new TextEncoder().encode(text).length;
  return text + " ".repeat(missing) + "\n";
}

function tokenOf() {
  if (body.dataset.access === "open") return null;
  return document.getElementById("token").value.replace(/[-\s]/g, "").toLowerCase();
}

async function send(line) {
  const answer = await fetch(`${base}/reports`, { method: "POST", body: line, credentials: "omit" });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error);
  return told;
}

async function start() {
  const device = await (await fetch(`${base}/device`, { credentials: "omit" })).json();
  const place = `askance:${device.fingerprint}`;
  const token = document.getElementById("token");
  if (token && location.hash.length > 1) token.value = location.hash.slice(1);

  async function deliver(line) {
    const sent = JSON.parse(line);
    document.getElementById("payload").textContent = line.trimEnd();
    form.hidden = true;
    say("Sending …");
    let told;
    try {
      told = await send(line);
    } catch (error) {
      say(`Not sent yet (${error.message}). It is kept on this device. Load this page again to send the same.`);
      return;
    }
    const known = told.verdicts === "T" || told.verdicts === "K";
    localStorage.setItem(place, known ? `done:${sent.id}` : "");
    if (!known) localStorage.removeItem(place);
    say(known ? `Thank you. Your receipt: ${sent.id}` : `This was not taken: ${told.refused[0].what}`);
    form.hidden = known;
  }

  const kept = localStorage.getItem(place);
  if (kept && kept.startsWith("done:")) {
    form.hidden = true;
    say(`You have answered. Your receipt: ${kept.slice(5)}`);
    return;
  }
  if (kept) {
    await deliver(kept);
    return;
  }
  form.querySelector("button").disabled = false; // without this script nothing can be sent, and no truth leaves
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const answers = Object.fromEntries(device.questions.map((question) => [question.name, answerOf(question)]));
    const id = hex(crypto.getRandomValues(new Uint8Array(16)));
    const content = { campaign: device.fingerprint.slice(0, 16), id, token: tokenOf(), answers };
    const line = padded(content, device.bytes);
    localStorage.setItem(place, line);
    deliver(line);
  });
}

start().catch((error) => say(`This page could not start: ${error.message}`));
