// askance-device.js: noises an answer on the device on which it is given. No dependencies; browsers and node.
//
// A report is made of a truth and of random 64-bit words by the mapping `device/1`, bit for bit as askance does it in
// Python (docs/device.md; `askance vectors` writes known answers). Words come from WebCrypto and from nowhere else. How
// many a report takes never depends on the truth, loops never branch on it, and no error says what it was.
//
//   randomize(description, truth)                             a fresh report
//   permanent(secret, campaign, question, description, truth) the same report whenever the question is asked again
//   reportFromWords(description, truth, words)                {report, wordsUsed} from given words: protects nobody
//   secretFromToken(token), accessFromToken(token)            what stays on the device, and what is sent instead of it
//
// A description is what `device_description(channel)` gives in Python. Reports are labels where answers are noised, and
// objects where statistics are.

export const FORMAT = "device/1";

const HALF = 2 ** 32;
// thresholds are whole numbers over 2^62; the two lowest bits of a word are not looked at
const BITS = 62n;
// what statistics may miss their bounds by, in shares of them: rounding
const HAIR = 1e-12;
// and their norm
const SLACK = 1e-12;
// and statistics that are listed
const ROUNDING = 1e-9;
// words; WebCrypto gives 65,536 bytes at a time
const MOST_AT_ONCE = 8192;

/** Something that was refused: a description, a truth that it does not allow (never shown), or too few words. */
export class DeviceError extends Error {
  constructor(message) {
    super(message);
    this.name = "DeviceError";
  }
}

class TooFewWords extends DeviceError {}

// -- words ------------------------------------------------------------------------------------------------------------

/** Words one after the other, in halves of 32 bits, which JavaScript compares and multiplies exactly. */
class Words {
  constructor(halves, more = null) {
    // low and high half of every word
    this.halves = halves;
    // gives so many more words
    this.more = more;
    this.at = 0;
    this.used = 0;
    this.low = 0;
    this.high = 0;
  }

  /** Have that many words at hand, where there is a source: fewer calls of it. */
  expect(count) {
    if (this.more !== null && this.at === this.halves.length) {
      this.halves = this.more(Math.min(count, MOST_AT_ONCE));
      this.at = 0;
    }
  }

  next() {
    this.expect(1);
    if (this.at >= this.halves.length) {
      throw new TooFewWords(`${this.used} words are not enough.`);
    }
    this.low = this.halves[this.at];
    this.high = this.halves[this.at + 1];
    this.at += 2;
    this.used += 1;
  }

  /** A uniform whole number below a limit of at most 2^16, by Lemire's multiplication; unfair words are left aside. */
  below(limit) {
    // 2^64 mod limit
    const unfair = (HALF % limit) ** 2 % limit;
    for (;;) {
      this.next();
      const first = this.low * limit;
      const second = this.high * limit + Math.floor(first / HALF);
      if (second % HALF !== 0 || first % HALF >= unfair) return Math.floor(second / HALF);
    }
  }

  /** `size` different ones of 0 … cells − 1, one after the other: the first steps of a shuffle. */
  distinct(cells, size) {
    const order = new Uint32Array(cells).map((_, cell) => cell);
    for (let place = 0; place < size; place += 1) {
      const at = place + this.below(cells - place);
      [order[place], order[at]] = [order[at], order[place]];
    }
    return order.subarray(0, size);
  }
}

function fresh(count) {
  const halves = new Uint32Array(2 * count);
  globalThis.crypto.getRandomValues(halves);
  return halves;
}

function halvesOf(words) {
  const listed = Array.from(words, BigInt);
  const halves = new Uint32Array(2 * listed.length);
  listed.forEach((word, i) => {
    if (word < 0n || word >> 64n !== 0n) throw new DeviceError("a word is not below 2^64.");
    halves[2 * i] = Number(word & 0xffffffffn);
    halves[2 * i + 1] = Number(word >> 32n);
  });
  return halves;
}

// -- thresholds -------------------------------------------------------------------------------------------------------

/** Thresholds T over 2^62 as the words 4 T that are too large, in halves. */
class Limits {
  constructor(thresholds) {
    this.high = Float64Array.from(thresholds, (threshold) => Number((threshold << 2n) >> 32n));
    this.low = Float64Array.from(thresholds, (threshold) => Number((threshold << 2n) & 0xffffffffn));
  }

  /** Whether the word is below a limit: 1 or 0, without a branch. */
  above(words, i) {
    return (words.high < this.high[i]) | ((words.high === this.high[i]) & (words.low < this.low[i]));
  }

  /** How many limits the word is not below: all are compared. */
  place(words) {
    let place = 0;
    for (let i = 0; i < this.high.length; i += 1) place += 1 - this.above(words, i);
    return place;
  }
}

function threshold(text) {
  // a number of JSON would have been rounded
  const number = typeof text === "string" ? BigInt(text) : -1n;
  if (number < 0n || number > 1n << BITS) throw new DeviceError("a threshold is no text of a whole number up to 2^62.");
  return number;
}

function cumulative(weights, start = 0n) {
  let total = start;
  const sums = weights.map((weight) => (total += threshold(weight)));
  if (total !== 1n << BITS) throw new DeviceError("weights do not sum to 2^62.");
  return new Limits(sums);
}

// -- truths -----------------------------------------------------------------------------------------------------------

/** Labels are a list, or a number m that stands for the codes 0 … m − 1. */
function labelsOf(labels) {
  return typeof labels === "number" ? Array.from({ length: labels }, (_, code) => code) : labels;
}

/** The code of a label. All labels are compared, whichever it is. */
function codeOf(labels, truth) {
  let code = -1;
  for (let i = 0; i < labels.length; i += 1) {
    const same = Number(labels[i] === truth);
    code = same * i + (1 - same) * code;
  }
  if (code < 0) throw new DeviceError("the truth is none of the labels.");
  return code;
}

function numbersOf(truth, size) {
  const listed = Array.isArray(truth) || ArrayBuffer.isView(truth) ? Array.from(truth) : [];
  const wrong = listed.filter((value) => typeof value !== "number" && typeof value !== "boolean").length;
  if (listed.length !== size || wrong > 0) throw new DeviceError(`the truth is no list of ${size} numbers.`);
  return listed.map(Number);
}

/** t = (φ − lower)/c of every statistic, between 0 and 1. */
function sharesOf(description, truth) {
  const at = (bounds, i) => (typeof bounds === "number" ? bounds : bounds[i]);
  const { lower, statistic_bound: width } = description;
  const raw = numbersOf(truth, description.dim).map((value, i) => (value - at(lower, i)) / at(width, i));
  const wrong = raw.filter((share) => !(share >= -HAIR && share <= 1 + HAIR)).length;
  if (wrong > 0) throw new DeviceError("a statistic lies outside its bounds, or is no number.");
  const shares = raw.map((share) => Math.min(Math.max(share, 0), 1));
  if (!description.binary) return shares;
  const between = shares.filter((share) => Math.abs(share - Math.round(share)) > HAIR).length;
  if (between > 0) throw new DeviceError("a statistic lies between its bounds; allowed: one of the two.");
  return shares.map((share) => Math.round(share));
}

function requireNorm(shares, [least, most]) {
  const norm = shares.reduce((sum, share) => sum + share, 0);
  if (norm < least || norm > most * (1 + SLACK)) throw new DeviceError("the statistics have a wrong sum.");
}

/** The listed statistics that these differ from by rounding alone. */
function snapped(shares, possible) {
  const misses = possible.map((row) => Math.max(...row.map((value, i) => Math.abs(value - shares[i]))));
  const nearest = misses.indexOf(Math.min(...misses));
  if (misses[nearest] > ROUNDING) throw new DeviceError("the statistics are none of those that are possible.");
  return possible[nearest];
}

// -- mappings: for each, how many words a report takes at least, and how it is made -----------------------------------

function hex(bits, width) {
  const bytes = new Uint8Array(Math.ceil(width / 8));
  bits.forEach((bit, i) => (bytes[i >> 3] |= bit << (i & 7)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function ofColumns(description) {
  const outputs = labelsOf(description.outputs);
  const observations = labelsOf(description.observations);
  const columns = description.thresholds.columns.map((column) => cumulative(column));
  const report = (truth, words) => {
    const code = codeOf(outputs, truth);
    words.next();
    return observations[columns[code].place(words)];
  };
  return { words: 1, report };
}

function ofReveal(description) {
  const outputs = labelsOf(description.outputs);
  const { reveal, base } = description.thresholds;
  const told = new Limits([threshold(reveal)]);
  const drawn = cumulative(base, threshold(reveal));
  const report = (truth, words) => {
    const code = codeOf(outputs, truth);
    words.next();
    const tells = told.above(words, 0);
    return outputs[tells * code + (1 - tells) * drawn.place(words)];
  };
  return { words: 1, report };
}

/** Below which word a statistic of mean t is sent as 1: S + ⌊(P − S) t⌋, and P where t is 1. */
function limitsOf(shares, keep, raised) {
  const span = keep - raised;
  const nearest = Number(span);
  const thresholds = shares.map((share) => {
    const whole = BigInt(Math.floor(nearest * share));
    return raised + [whole < span ? whole : span, span][Number(share >= 1)];
  });
  return new Limits(thresholds);
}

function ofBits(description) {
  const { dim, norm, possible, binary } = description;
  const [keep, raised] = [description.thresholds.keep, description.thresholds.raised].map(threshold);
  const both = new Limits([raised, keep]);
  const report = (truth, words) => {
    let shares = sharesOf(description, truth);
    if (possible) shares = snapped(shares, possible);
    requireNorm(shares, norm);
    const own = binary ? null : limitsOf(shares, keep, raised);
    const bits = new Uint8Array(dim);
    for (let i = 0; i < dim; i += 1) {
      words.expect(dim - i);
      words.next();
      bits[i] = binary ? both.above(words, 0) | (shares[i] & both.above(words, 1)) : own.above(words, i);
    }
    return { bits: hex(bits, dim) };
  };
  return { words: dim, report };
}

function ofCoordinate(description) {
  const { release, keep, raised } = description.thresholds;
  const drawn = cumulative(release);
  const report = (truth, words) => {
    const limits = limitsOf(sharesOf(description, truth), threshold(keep), threshold(raised));
    words.next();
    const coordinate = drawn.place(words);
    words.next();
    return { coordinate, bit: limits.above(words, coordinate) };
  };
  return { words: 2, report };
}

/** A subset of a table with the true cell rather often in it: the last of the others gives way to it. */
function tableOf(thresholds, cells) {
  if (thresholds.columns) {
    const columns = thresholds.columns.map((column) => cumulative(column));
    const told = (cell, words) => {
      words.next();
      return [columns[cell].place(words)];
    };
    return { words: 1, bits: thresholds.columns[0].length, told };
  }
  const size = Number(thresholds.subset_size);
  if (!(size > 0 && size < cells && size % 1 === 0)) throw new DeviceError("no such subset.");
  const inside = new Limits([threshold(thresholds.inside)]);
  const told = (cell, words) => {
    words.next();
    const isIn = inside.above(words, 0);
    const chosen = Array.from(words.distinct(cells - 1, size), (other) => other + Number(other >= cell));
    chosen[size - 1] = isIn * cell + (1 - isIn) * chosen[size - 1];
    return chosen;
  };
  return { words: 1 + size, bits: cells, told };
}

function subsetHex(chosen, width) {
  const bits = new Uint8Array(width);
  chosen.forEach((cell) => (bits[cell] = 1));
  return hex(bits, width);
}

function ofSubset(description) {
  const outputs = labelsOf(description.outputs);
  const table = tableOf(description.thresholds, outputs.length);
  const report = (truth, words) => ({
    subset: subsetHex(table.told(codeOf(outputs, truth), words), table.bits),
  });
  return { words: table.words, report };
}

function ofClique(description) {
  const { sizes, cliques, thresholds } = description;
  const drawn = cumulative(thresholds.cliques);
  const cellsOf = (clique) => clique.reduce((cells, variable) => cells * sizes[variable], 1);
  const tables = cliques.map((clique, i) => tableOf(thresholds.tables[i], cellsOf(clique)));
  const width = Math.max(...tables.map((table) => table.bits));
  const report = (truth, words) => {
    const record = numbersOf(truth, sizes.length);
    const wrong = record.filter((value, i) => !(Number.isInteger(value) && value >= 0 && value < sizes[i])).length;
    if (wrong > 0) throw new DeviceError("a variable has none of its values.");
    words.next();
    const clique = drawn.place(words);
    const cell = cliques[clique].reduce((sum, variable) => sum * sizes[variable] + record[variable], 0);
    return { clique, subset: subsetHex(tables[clique].told(cell, words), width) };
  };
  return { words: 1 + Math.max(...tables.map((table) => table.words)), report };
}

const MAPPINGS = {
  columns: ofColumns,
  reveal: ofReveal,
  bits: ofBits,
  coordinate: ofCoordinate,
  subset: ofSubset,
  clique: ofClique,
};
const prepared = new WeakMap();

/** What a description says, with thresholds read: worked out once for every object. */
function mappingOf(description) {
  if (!prepared.has(description)) {
    if (description?.format !== FORMAT || description.questions) {
      throw new DeviceError(`no channel of the format ${FORMAT}: of a campaign, each question has one.`);
    }
    if (!Object.hasOwn(MAPPINGS, description.mapping)) throw new DeviceError("its mapping is not known.");
    prepared.set(description, MAPPINGS[description.mapping](description));
  }
  return prepared.get(description);
}

// -- what is called ---------------------------------------------------------------------------------------------------

/** The report that these words (numbers below 2^64: BigInt, or texts) make of a truth, and how many it took. */
export function reportFromWords(description, truth, words) {
  const stream = new Words(halvesOf(words));
  const report = mappingOf(description).report(truth, stream);
  return { report, wordsUsed: stream.used };
}

/** A report with words from WebCrypto: what protects a person. Draw once and keep it: a second draw tells more. */
export function randomize(description, truth) {
  const mapping = mappingOf(description);
  return mapping.report(truth, new Words(fresh(Math.min(mapping.words, MOST_AT_ONCE)), fresh));
}

const encoder = new TextEncoder();

async function signer(key) {
  const { subtle } = globalThis.crypto;
  const imported = await subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return async (message) => new Uint8Array(await subtle.sign("HMAC", imported, message));
}

function withLength(text) {
  const encoded = encoder.encode(text);
  const bytes = new Uint8Array(4 + encoded.length);
  new DataView(bytes.buffer).setUint32(0, encoded.length);
  bytes.set(encoded, 4);
  return bytes;
}

/** The first words of a question, four from every HMAC of its name and a counter. */
async function permanentHalves(secret, campaign, question, count) {
  if (!(secret instanceof Uint8Array) || secret.length < 16) throw new DeviceError("the secret is shorter than 16 bytes.");
  const sign = await signer(secret);
  const named = ["askance permanent/1", campaign, question].flatMap((text) => Array.from(withLength(text)));
  const message = Uint8Array.from([...named, ...new Uint8Array(8)]);
  const halves = new Uint32Array(8 * Math.ceil(count / 4));
  for (let block = 0; block < halves.length / 8; block += 1) {
    new DataView(message.buffer).setUint32(message.length - 4, block);
    const digest = new DataView((await sign(message)).buffer);
    for (let half = 0; half < 8; half += 1) halves[8 * block + half] = digest.getUint32(4 * half, true);
  }
  return halves;
}

/** The words themselves, as BigInt: what `permanent_words` gives in Python. */
export async function permanentWords(secret, campaign, question, count) {
  const halves = await permanentHalves(secret, campaign, question, count);
  return Array.from({ length: count }, (_, i) => (BigInt(halves[2 * i + 1]) << 32n) | BigInt(halves[2 * i]));
}

/**
 * The report of a truth with the words of this secret, campaign and question: asked again, the same. Words do not depend
 * on the truth; where it may change, name its window in the question. Whoever knows the secret can undo the noise.
 */
export async function permanent(secret, campaign, question, description, truth) {
  const mapping = mappingOf(description);
  for (let count = mapping.words + 4; ; count *= 2) {
    const words = new Words(await permanentHalves(secret, campaign, question, count));
    try {
      return mapping.report(truth, words);
    } catch (error) {
      // else so many were left aside that more are wanted
      if (!(error instanceof TooFewWords)) throw error;
    }
  }
}

/** The secret of whoever holds an access token, on every device. The token is then never sent: see accessFromToken. */
export async function secretFromToken(token) {
  return derived(token, "askance device secret/1");
}

/** What is sent to show that one holds a token (hexadecimal): neither token nor secret can be had from it. */
export async function accessFromToken(token) {
  return Array.from(await derived(token, "askance access/1"), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function derived(token, label) {
  // Characters as Python counts them: code points.
  if (typeof token !== "string" || Array.from(token).length < 16) throw new DeviceError("the token is too short.");
  const sign = await signer(encoder.encode(token));
  return sign(encoder.encode(label));
}
