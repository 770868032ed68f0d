"""Reports as lines of JSON, taken apart byte by byte along a list of steps.

Steps are rows of five numbers: what is expected, and what it takes.

| step    | what                                                    | takes                                          |
|---------|---------------------------------------------------------|------------------------------------------------|
| LITERAL | bytes as they are                                       | their place among all literals, from and to    |
| BLANK   | one blank, or none                                      |                                                |
| ID      | `"id":"…",`, or nothing                                 |                                                |
| BITS    | hexadecimal digits in quotes, the lowest byte first     | first word, bytes                              |
| SEED    | 16 hexadecimal digits in quotes, the highest first      | word                                           |
| WHOLE   | a whole number of at most 18 digits                     | word                                           |
| WHOLES  | a list of such                                          | first word, how many                           |
| LABEL   | one of some texts, which are sorted                     | word                                           |
| END     | the end of a line                                       |                                                |

A line that does not fit is left to others: `odd` says which. It may still be a report that is written in another way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._kernels.compiler import compiled

LITERAL, BLANK, ID, BITS, SEED, WHOLE, WHOLES, LABEL, END = range(9)
_QUOTE, _BACKSLASH, _COMMA, _NEWLINE, _RETURN, _SPACE = 34, 92, 44, 10, 13, 32
_OPEN, _CLOSE, _END, _I = 91, 93, 125, 105
_ID = np.frombuffer(b'"id":', dtype=np.uint8)
_DIGITS = np.full(256, 255, dtype=np.uint8)
_DIGITS[np.frombuffer(b"0123456789abcdef", dtype=np.uint8)] = np.arange(16)
# What a byte is within a text: plain, the beginning of a longer letter or its continuation, or to be left to others.
_PLAIN, _BEGINS, _CONTINUES, _UNUSUAL = range(4)
_KINDS = np.repeat(np.array([_UNUSUAL, _PLAIN, _CONTINUES, _BEGINS], dtype=np.uint8), [32, 96, 64, 64])
_KINDS[_BACKSLASH] = _UNUSUAL
_4 = np.uint64(4)


@compiled
def _after_literal(data: Any, at: int, literals: Any, first: int, end: int) -> Any:
    """Behind bytes as they are expected; −1 where there are others."""
    for k in range(first, end):
        if data[at] != literals[k]:
            return -1
        at += 1
    return at


@compiled
def _after_text(data: Any, at: int, high: bool) -> Any:
    """Behind the quote that ends a text; −1 where it is not plain. Data end with a newline."""
    while data[at] != _QUOTE:
        kind = _KINDS[data[at]]
        if kind == _UNUSUAL or (kind != _PLAIN and not high):
            return -1
        at += 1
    return at + 1


@compiled
def _after_whole(data: Any, at: int, values: Any, row: int, place: int) -> Any:
    """Behind a whole number, which is put into its place; −1 where there is none."""
    start, number = at, np.uint64(0)
    while np.uint8(48) <= data[at] <= np.uint8(57) and at - start < 19:
        number = number * np.uint64(10) + np.uint64(data[at] - np.uint8(48))
        at += 1
    values[row, place] = number
    digits = at - start
    return -1 if digits == 0 or digits > 18 or (digits > 1 and data[start] == 48) else at


@compiled
def _after_wholes(data: Any, at: int, values: Any, row: int, place: int, count: int) -> Any:
    """Behind a list of so many whole numbers; −1 where there is none."""
    for k in range(count):
        if data[at] != (_COMMA if k else _OPEN):
            return -1
        at += 1
        at += k > 0 and data[at] == _SPACE
        at = _after_whole(data, at, values, row, place + k)
        if at < 0:
            return -1
    return at + 1 if data[at] == _CLOSE else -1


@compiled
def _after_digits(data: Any, at: int, values: Any, row: int, place: int, size: int, lowest_first: bool) -> Any:
    """Behind hexadecimal digits of so many bytes, in quotes; −1 where there are none."""
    if at + 2 * size + 2 > len(data) or data[at] != _QUOTE or data[at + 2 * size + 1] != _QUOTE:
        return -1
    bad, digit = np.uint8(0), at + 1
    for word in range((size + 7) // 8):
        number = np.uint64(0)
        for k in range(min(8, size - 8 * word)):
            high, low = _DIGITS[data[digit]], _DIGITS[data[digit + 1]]
            bad |= high | low
            number |= ((np.uint64(high) << _4) | np.uint64(low)) << np.uint64(8 * k if lowest_first else 56 - 8 * k)
            digit += 2
        values[row, place + word] = number
    return -1 if bad > 15 else digit + 1


@compiled
def _after_label(data: Any, at: int, values: Any, row: int, place: int, labels: Any, bounds: Any, high: bool) -> int:
    """Behind a label, whose number among the sorted ones is put into its place; −1 where it is none of them."""
    start = at
    if data[at] == _QUOTE:
        at = _after_text(data, at + 1, high)
    else:
        while data[at] != _COMMA and data[at] != _END and data[at] > _SPACE:
            at += 1
    low, above = 0, len(bounds) - 1
    while at > 0 and low < above:
        middle = (low + above) // 2
        first, size = bounds[middle], bounds[middle + 1] - bounds[middle]
        k = 0
        while k < size and start + k < at and data[start + k] == labels[first + k]:
            k += 1
        if k == size and start + k == at:
            values[row, place] = middle
            return at
        if k < size and (start + k == at or data[start + k] < labels[first + k]):
            above = middle
        else:
            low = middle + 1
    return -1


@compiled
def _after_id(data: Any, at: int, high: bool, longest: int, letters: Any, filled: int) -> tuple[int, int]:
    """Behind an id, whose letters are kept, and how many are kept then; the same place where there is none."""
    if data[at] != _QUOTE or data[at + 1] != _I:
        return at, filled
    for k in range(2, len(_ID)):
        if data[at + k] != _ID[k]:
            return -1, filled
    start = at + len(_ID)
    start += data[start] == _SPACE
    if data[start] != _QUOTE:
        return -1, filled
    at, stop, continued = start + 1, filled, 0
    while data[at] != _QUOTE:
        kind = _KINDS[data[at]]
        if kind == _UNUSUAL or (kind != _PLAIN and not high):
            return -1, filled
        continued += kind == _CONTINUES
        letters[stop] = data[at]
        at, stop = at + 1, stop + 1
    if data[at + 1] != _COMMA or not 1 <= stop - filled - continued <= longest:
        return -1, filled
    return at + 2 + (data[at + 2] == _SPACE), stop


@compiled
def take_apart(
    data: Any,
    high: bool,
    longest: int,
    steps: Any,
    literals: Any,
    labels: Any,
    label_bounds: Any,
    values: Any,
    letters: Any,
    id_bounds: Any,
    rows: Any,
    odd: Any,
) -> tuple[int, int]:
    """How many lines are reports as expected, and how many are not.

    Args:
        data: bytes; the last line has an end too.
        high: whether they are UTF-8, so that bytes above 127 are letters.
        longest: characters of an id.
        steps: of every line, shape (number of steps, 4).
        literals: all bytes that are expected.
        labels: the sorted labels of answers, one behind the other.
        label_bounds: shape (labels + 1,).
        values: room for the words of every report.
        letters: room for all ids.
        id_bounds: room for where ids end, shape (lines + 1,).
        rows: room for which line a report stands in, from 0.
        odd: room for the other lines: number, first byte and end, shape (lines, 3).
    """
    at, line, good, others, filled = 0, 0, 0, 0, 0
    id_bounds[0] = 0
    while at < len(data):
        start, kept = at, filled
        for i in range(len(steps)):
            step, first, second = steps[i, 0], steps[i, 1], steps[i, 2]
            if step == LITERAL:
                at = _after_literal(data, at, literals, first, second)
            elif step == BLANK:
                at += data[at] == _SPACE
            elif step == ID:
                at, filled = _after_id(data, at, high, longest, letters, filled)
            elif step in (BITS, SEED):
                at = _after_digits(data, at, values, good, first, second, step == BITS)
            elif step == WHOLE:
                at = _after_whole(data, at, values, good, first)
            elif step == WHOLES:
                at = _after_wholes(data, at, values, good, first, second)
            elif step == LABEL:
                at = _after_label(data, at, values, good, first, labels, label_bounds, high)
            elif step == END:
                at += data[at] == _RETURN
                at = at + 1 if data[at] == _NEWLINE else -1
            if at < 0:
                break
        if at >= 0:
            rows[good] = line
            good += 1
            id_bounds[good] = filled
        else:
            at, filled = start, kept
            while data[at] != _NEWLINE:
                at += 1
            odd[others, 0], odd[others, 1], odd[others, 2] = line, start, at
            others += 1
            at += 1
        line += 1
    return good, others
