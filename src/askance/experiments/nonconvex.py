"""Figure inv_LL: a marginal likelihood with two maxima, the moment estimate, and EM from several starts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from askance.channels.matrix import MatrixChannel
from askance.evidence.tally import Tally
from askance.experiments.experiment import Experiment, Finding, Plain, Trial
from askance.experiments.narrow import key_below
from askance.experiments.printed import PRINTED_CHANNEL, Rows, Texts, printed_pair, report_frequencies
from askance.experiments.seeds import trial_seed
from askance.experiments.tables import number, text_table
from askance.geometry import Picture, likelihood_picture
from askance.geometry.style import reports_text
from askance.models.enumerated import Enumerated
from askance.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# So many reports that their whole numbers are the expected frequencies to twelve digits.
_EXPECTED_REPORTS = 10**12
# Between these θ the expected likelihood has two maxima; the upper end is known to three digits.
_LOWEST, _HIGHEST = -math.log(4), -0.987


class NonconvexExperiment(Experiment):
    """The log-marginal likelihood of φ = (2, 1, 0) through the printed S."""

    name = "nonconvex"
    title = "A likelihood with two maxima"
    description = (
        "The likelihood of indirect reports need not have a single maximum. Here three outputs are seen through a "
        "known 3 × 3 table of probabilities. EM climbs from several starts, and where it ends depends on where it "
        "began. The moment estimate needs no start. The first figure uses the frequencies that are expected, the "
        "second a sample."
    )

    captions: ClassVar = {
        "expected": "The likelihood of the frequencies that are expected. Below, where EM goes from each start, "
        "step by step; hollow points on the curve are the starts.",
        "sample": "The same for a sample.",
    }

    def config(self, *, quick: bool, seed: int) -> dict[str, Plain]:
        """A quick run starts EM from fewer places, counts fewer samples and scans fewer θ."""
        return {
            "seed": seed,
            "statistics": [[2, 1, 0]],
            "channel": PRINTED_CHANNEL,
            "theta": -1.1,
            "reports": 200_000,
            "em_starts": [-3.0, 0.0, 1.0, 2.0, 4.0]
            if quick
            else [-4.0, -3.0, -2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0],
            "em_steps": 100,
            "scanned": [round(-1.6 + i / 50, 2) for i in range(0, 41, 4 if quick else 1)],
            "samples": 20 if quick else 200,
        }

    def trials(self, config: Mapping[str, Plain]) -> Sequence[Trial]:
        """The picture of expected frequencies, that of a sample, many samples, and the range with two maxima."""
        model = {"statistics": config["statistics"], "channel": config["channel"]}
        truth = {**model, "theta": config["theta"]}
        em = {"em_starts": config["em_starts"], "em_steps": config["em_steps"]}
        sampled = {"reports": config["reports"]}
        seeds = {key: {"seed": trial_seed(config["seed"], key)} for key in ("sample", "samples")}
        return [
            Trial("expected", draw_likelihood, {**truth, **em}),
            Trial("sample", draw_likelihood, {**truth, **em, **sampled, **seeds["sample"]}),
            Trial(
                "samples", count_samples, {**truth, **sampled, **seeds["samples"], "samples": config["samples"]}, 2.0
            ),
            Trial("range", count_maxima, {**model, "thetas": config["scanned"]}, 1.5),
        ]

    def collect(self, config: Mapping[str, Plain], outcomes: Mapping[str, Plain]) -> dict[str, Plain]:
        """Both pictures' data, the counts over samples, and the number of maxima over θ."""
        return {"theta": config["theta"], **outcomes}

    def draw(self, result: Mapping[str, Plain]) -> dict[str, Figure]:
        """The likelihood of the expected frequencies, and that of the sample."""
        words = {
            "expected": "the expected frequencies",
            "sample": reports_text(result["sample"]["n_observations"]),
        }
        figures = {}
        for name, of in words.items():
            figure = figures[name] = Picture(dict(result[name])).figure
            key_below(figure, figure.axes[:2], 7.2)
            figure.axes[0].set_ylabel("average log-likelihood")
            figure.axes[0].margins(y=0.08)  # the marks of the highest maximum are large
            figure.axes[1].set_xlabel("$\\theta$")
            figure.suptitle(f"Marginal likelihood of {of}", fontsize=11)
        return figures

    def tables(self, result: Mapping[str, Plain]) -> Sequence[Table]:
        """Maxima and estimates; where EM ends from each start."""
        rows = []
        for name in ("expected", "sample"):
            picture = result[name]
            maxima = [maximum["theta"][0] for maximum in picture["maxima"]]
            estimates = [picture[key]["theta"][0] for key in ("moment_estimate", "one_step")]
            listed = ", ".join(_theta(theta) for theta in maxima)
            rows.append([f"{name} frequencies", listed, *(_theta(theta) for theta in estimates)])
        starts = [
            [number(path["iterates"][0][0]), _end(path["maximum"], result["expected"])]
            for path in result["expected"]["em"]
        ]
        return [
            text_table(
                "Maxima of the likelihood, and estimates of θ", ["reports", "maxima", "moments", "one-step"], rows
            ),
            text_table("Where EM ends, expected frequencies", ["start", "end"], starts),
        ]

    def main_number(self, result: Mapping[str, Plain]) -> str:
        """The maxima."""
        maxima = " and ".join(number(maximum["theta"][0]) for maximum in result["expected"]["maxima"])
        return f"maxima at θ = {maxima}; moments: {number(result['expected']['moment_estimate']['theta'][0])}"

    def findings(self, result: Mapping[str, Plain]) -> Sequence[Finding]:
        """Two maxima, where EM ends, consistency of moments, and for which θ there are two."""
        expected, samples = result["expected"], result["samples"]
        maxima = [maximum["theta"][0] for maximum in expected["maxima"]]
        wrong = [path["iterates"][0][0] for path in expected["em"] if path["maximum"] != 0]
        two = [row["theta"] for row in result["range"] if len(row["maxima"]) > 1]
        within = bool(two) and min(two) > _LOWEST and max(two) < _HIGHEST
        moments = expected["moment_estimate"]["theta"][0]
        return [
            Finding(
                "The log-marginal likelihood is not concave, although the model is well specified.",
                f"At θ = {number(result['theta'])} it has maxima at {' and '.join(number(theta) for theta in maxima)}.",
                "agrees" if len(maxima) == 2 else "differs",
            ),
            Finding(
                "The moment estimate is consistent when S has full column rank.",
                f"From the expected frequencies it is {number(moments)}, from {samples['samples']} samples its error "
                f"is {number(samples['moments_error'], 2)} in the root mean square.",
                "agrees" if abs(moments - result["theta"]) < 1e-6 else "differs",
            ),
            Finding(
                "EM ends where its start leads it.",
                f"{len(wrong)} of {len(expected['em'])} starts end at the wrong maximum"
                + (f": those from {number(min(wrong))} on." if wrong else "."),
                "beyond",
            ),
            Finding(
                "Two maxima are there for some θ only.",
                f"Among the θ that were scanned, for those from {number(min(two))} to {number(max(two))}; the "
                "exact range is −ln 4 to about −0.987."
                if within
                else f"Among the θ that were scanned, for {len(two)}; expected between −ln 4 and about −0.987.",
                "beyond" if within else "differs",
            ),
            Finding(
                "One scoring step from the moment estimate stays on the right slope and is more precise.",
                f"Its error is {number(samples['one_step_error'], 2)} in the root mean square. Of the "
                f"{samples['samples']} samples, {samples['several_maxima']} have two maxima, and in "
                f"{samples['highest_is_spurious'] or 'none'} of them the wrong one is the highest.",
                "beyond",
            ),
        ]


def draw_likelihood(
    statistics: Rows,
    channel: Texts,
    theta: float,
    em_starts: Sequence[float],
    em_steps: int,
    reports: int | None = None,
    seed: int = 0,
) -> Plain:
    """The data of the picture for a sample of so many reports at θ, or (None) for the expected frequencies."""
    model, seen = printed_pair(statistics, channel)
    tally = _expected(model, seen, theta)
    if reports is not None:
        tally = _sampled(model, seen, theta, reports, np.random.default_rng(seed))
    return likelihood_picture(model, seen, tally, theta=[theta], em_starts=em_starts, em_steps=em_steps).data


def count_samples(statistics: Rows, channel: Texts, theta: float, reports: int, seed: int, samples: int) -> Plain:
    """Over samples: how many have two maxima, and how far the estimates are from the truth, in the mean square."""
    (model, seen), rng = printed_pair(statistics, channel), np.random.default_rng(seed)
    several, moments, one_step, spurious = 0, [], [], 0
    for _ in range(samples):
        tally = _sampled(model, seen, theta, reports, rng)
        data = likelihood_picture(model, seen, tally, points=11).data
        several += len(data["maxima"]) > 1
        spurious += bool(data["higher_at_infinity"]) or abs(data["maxima"][0]["theta"][0] - theta) > 1
        moments.append(data["moment_estimate"]["theta"][0] - theta)
        one_step.append(data["one_step"]["theta"][0] - theta)
    return {
        "samples": samples,
        "several_maxima": several,
        "highest_is_spurious": spurious,
        "moments_error": _root_mean_square(moments),
        "one_step_error": _root_mean_square(one_step),
    }


def count_maxima(statistics: Rows, channel: Texts, thetas: Sequence[float]) -> Plain:
    """For each true θ: the maxima of its expected likelihood, best first."""
    model, seen = printed_pair(statistics, channel)
    rows = []
    for theta in thetas:
        data = likelihood_picture(model, seen, _expected(model, seen, theta), points=11).data
        rows.append({"theta": theta, "maxima": [round(maximum["theta"][0], 6) for maximum in data["maxima"]]})
    return rows


def _expected(model: Enumerated, channel: MatrixChannel, theta: float) -> Tally:
    frequencies = channel.apply(model.probabilities([theta]))
    return Tally(channel, np.round(_EXPECTED_REPORTS * frequencies).astype(np.int64))


def _sampled(model: Enumerated, channel: MatrixChannel, theta: float, reports: int, rng: np.random.Generator) -> Tally:
    return Tally(channel, rng.multinomial(reports, report_frequencies(model, channel, [theta])))


def _root_mean_square(values: Sequence[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _end(maximum: int | None, picture: Mapping[str, Plain]) -> str:
    return "no maximum" if maximum is None else f"θ = {_theta(picture['maxima'][maximum]['theta'][0])}"


def _theta(value: float) -> str:
    """A parameter with three decimals and a real minus sign.

    >>> _theta(-1.0999999), _theta(2.1198)
    ('−1.100', '2.120')
    """
    return f"{value:.3f}".replace("-", "−")


#: The experiment.
NONCONVEX = NonconvexExperiment()
