"""Which channel: who draws the noise, what a respondent holds, and the channel to take."""

from __future__ import annotations

from matplotlib.figure import Figure

#: Who draws the noise, the colour of the group, and what is held → the channel to take.
GROUPS = (
    (
        "a person,\nyes or no",
        "#0072b2",
        (
            ("there is a die", "forced-response"),
            ("there is nothing but a birthday", "crosswise"),
            ("nobody shall say yes aloud: cards", "disguised-response"),
            ("it must be easy to explain", "warner"),
            ("forced answers are not accepted", "unrelated-question"),
            ("several cards, and how many are red", "kuk"),
            ("a true no may be seen; a device", "mangat"),
            ("a true no may be seen; a birthday", "triangular"),
        ),
    ),
    (
        "groups\nof persons",
        "#a3527b",
        (
            ("no device: how many of these items?", "list-experiment"),
            ("some say no whatever they are told", "cheating-detection"),
            ("some with the trait deny it", "stochastic-lie-detector"),
            ("some answer a crosswise question at random", "crosswise-control"),
            ("the other question: nobody knows its share", "unrelated-question-unknown"),
        ),
    ),
    (
        "a device",
        "#d55e00",
        (
            ("one answer of few", "randomized-response"),
            ("one answer of many", "subset-selection"),
            ("several attributes, and how they go together", "clique-release"),
            ("many yes/no facts, few of them true", "per-value"),
            ("many yes/no facts, many of them true", "coordinate-release"),
            ("numbers, each within bounds", "hybrid"),
            ("a vector of bounded length", "ball-release"),
            ("x and y of a regression", "quadratic-release"),
            ("one answer, a model with few parameters", "optimal_channel → matrix"),
        ),
    ),
    (
        "nobody:\nlabels are\nas they are",
        "#009e73",
        (
            ("an annotator errs at known rates", "noisy-labels"),
            ("“not this one”", "complementary-labels"),
            ("only the bracket is known", "coarsened"),
            ("the truth itself is known", "direct"),
            ("only counts over a stretch of words", "CountTagger (no channel)"),
        ),
    ),
)


def draw() -> Figure:
    """Four groups of rows, one row for every situation."""
    figure = Figure(figsize=(7.2, 7.6), layout="constrained")
    axis = figure.subplots()
    rows = sum(len(cases) for _, _, cases in GROUPS)
    axis.set(xlim=(0, 10), ylim=(rows + 2.0, -1.7))
    axis.axis("off")
    for x, heading in ((0, "Who draws\nthe noise"), (2.0, "What there is"), (6.8, "Take")):
        axis.text(x, -0.1, heading, color="#777777", fontsize=10, va="bottom")
    y = 0.6
    for who, colour, cases in GROUPS:
        last = y + len(cases) - 1
        axis.plot([1.8, 1.8], [y - 0.35, last + 0.35], color=colour, linewidth=3, solid_capstyle="butt")
        axis.text(0, (y + last) / 2, who, color=colour, fontsize=11, va="center", weight="bold")
        for number, (holds, channel) in enumerate(cases):
            axis.text(2.0, y + number, holds, fontsize=10, va="center")
            axis.text(6.8, y + number, channel, fontsize=10, va="center", color=colour, family="monospace")
        y = last + 1.7
    return figure
