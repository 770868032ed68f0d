"""What a server needs for reports of devices with many possible answers: memory as they have, not its square."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np

from askance import RandomizedResponse
from askance.collect.campaign import Asked, Campaign
from askance.collect.device_reports import DeviceReports
from askance.collect.store.decision import added
from askance.collect.store.entry import ID_BYTES, Entry
from askance.formats.report_schema import ReportSchema

LABELS = range(3_000)


def test_thousands_of_answers_need_no_square_table() -> None:
    channel = RandomizedResponse("1/2", outputs=LABELS)
    asked = Asked("opened", {"en": "Which page was opened?"}, channel)
    campaign = Campaign("pages", "devices", {"en": "Pages"}, ("en",), (asked,))
    devices, other = DeviceReports(campaign), DeviceReports(campaign)
    schema, answers = ReportSchema(channel), [2, 0, *LABELS, 2]
    ids = [number.to_bytes(ID_BYTES) for number in range(len(answers))]
    lines = [json.dumps(schema.record(answer, id.hex())) for answer, id in zip(answers, ids, strict=True)]
    many, few = devices.write("opened", lines), devices.write("opened", lines[:2])

    other.read(many, 0)  # loads what reading needs
    tracemalloc.start()
    read = devices.read(many, 0)
    entries = [entry for entry in read if isinstance(entry, Entry)]
    total = added((entry.window, entry.sums) for entry in entries)["opened", 0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert [entry.id for entry in entries] == ids
    assert devices.read(few, 0) == read[:2]
    assert total.n == len(answers)
    np.testing.assert_array_equal(total.sums, np.bincount(answers))
    for entry, answer in zip(entries, answers, strict=True):
        assert entry.sums["opened"][answer] == 1
        assert entry.sums["opened"].sum() == 1
    assert peak < len(LABELS) ** 2 * 8 / 2
