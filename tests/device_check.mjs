// What askance-device.js is held to, in node and in a browser: known answers of Python, and what it must not do.

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

async function bytesOf(text) {
  return Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
}

/** A report drawn by `randomize` while WebCrypto gives known words, and whether it was asked for enough of them. */
function withWords(device, described, truth, words, used) {
  let given = 0;
  const getRandomValues = (halves) => {
    for (let i = 0; i < halves.length; i += 2, given += 1) {
      const word = BigInt(words[given]);
      halves[i] = Number(word & 0xffffffffn);
      halves[i + 1] = Number(word >> 32n);
    }
    return halves;
  };
  Object.defineProperty(globalThis, "crypto", { value: { getRandomValues }, configurable: true });
  const report = device.randomize(described, truth);
  return [report, given >= used];
}

export async function check(device, known) {
  const wrong = [];
  let checked = 0;
  const expect = (found, wanted, where) => {
    checked += 1;
    if (!same(found, wanted)) wrong.push({ where, found, wanted });
  };
  for (const { device: described, vectors } of known.channels) {
    for (const { truth, words, report, words_used: used } of vectors) {
      const found = device.reportFromWords(described, truth, words);
      expect([found.report, found.wordsUsed], [report, used], described.kind);
    }
  }
  for (const one of known.permanent) {
    const secret = await device.secretFromToken(one.token);
    expect(Array.from(secret), Array.from(await bytesOf(one.secret)), "secretFromToken");
    expect(await device.accessFromToken(one.token), one.access, "accessFromToken");
    const words = await device.permanentWords(secret, one.campaign, one.question, one.words.length);
    expect(words.map(String), one.words, "permanentWords");
  }
  for (const { secret, campaign, question, device: described, truth, report } of known.reports) {
    const key = await bytesOf(secret);
    expect(await device.permanent(key, campaign, question, described, truth), report, `permanent ${described.kind}`);
  }
  for (const { device: described, truth } of known.refused) {
    let said = "nothing was refused";
    try {
      device.randomize(described, truth);
    } catch (error) {
      said = error instanceof device.DeviceError ? error.message : `${error}`;
      if (!(error instanceof device.DeviceError)) wrong.push({ where: described.kind, found: said });
    }
    expect(/nothing was refused|4711/.test(said), false, `a refusal of ${described.kind}: ${said}`);
  }
  for (const { device: described, vectors } of known.channels) {
    const { truth, words, report, words_used: used } = vectors[0];
    expect(withWords(device, described, truth, words, used), [report, true], `randomize ${described.kind}`);
    delete globalThis.crypto;
  }
  return { checked, wrong: wrong.slice(0, 5), mismatches: wrong.length };
}
