"""What is planned for a private regression, for people."""

from __future__ import annotations

from askance.channels.statistics.moment_release import MomentRelease
from askance.channels.statistics.scale_pilot import ScalePilot
from askance.design.regression_release import predicted_noise
from askance.estimation.problems.moment_repair import STRENGTH


def release_rows(release: MomentRelease | ScalePilot) -> tuple[list[str], list[tuple[str, ...]]]:
    """Names of columns, and rows: columns with bounds and, but for a pilot, which has none yet, scales."""
    field, shown = release.field, 5 if isinstance(release, MomentRelease) else 2
    columns = zip(field.names, field.low, field.high, field.centres, field.scales, *field.kept, strict=True)
    rows = [
        (name, f"{low:g} … {high:g}", f"{mid:.4g}", f"{scale:.4g}", f"{least:.4g} … {most:.4g}")
        for name, low, high, mid, scale, least, most in columns
    ]
    return ["column", "bounds", "centre", "scale", "clipped at"][:shown], [row[:shown] for row in rows]


def release_notes(release: MomentRelease | ScalePilot, respondents: int | None) -> list[str]:
    """What should be known before anybody is asked."""
    if not isinstance(release, MomentRelease):
        return ["a fifth of the respondents is a good size of a pilot; ask the others for the regression"]
    notes = []
    if release.field.scaled_by_bounds:
        notes.append("there are no scales: columns are standardised by their bounds; a pilot makes errors smaller")
    if respondents is not None and release.encoding in ("quadratic", "moments"):
        noise = STRENGTH * predicted_noise(release, respondents) * release.field.n_features**0.5
        verdict = "too much to say anything" if noise > 1 else "much" if noise > 0.3 else "little"
        notes.append(f"noise of {respondents:,} reports: {noise:.2g} beside variances of 1, {verdict}")
    return notes
