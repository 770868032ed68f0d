"""How respondents were drawn from a population, in names of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias

from askance._checks import one_of, shown
from askance._words import words
from askance.channels.finite import FiniteChannel
from askance.channels.labels import Direct
from askance.errors import InputError
from askance.models.count_means import CountMeans
from askance.models.softmax import Softmax

ReplicateKind: TypeAlias = Literal["JK1", "JKn", "BRR", "Fay", "bootstrap"]


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """How respondents were drawn: what `svydesign` and `svrepdesign` of R's `survey` say.

    Attributes:
        weights: name of a column of sampling weights.
        cluster: name of a column of groups whose answers may depend on each other: the standard errors allow for it.
        strata: name of a column of strata that clusters (without `cluster`: rows) were drawn from: standard errors are
            those of R's `survey`, with as many degrees of freedom as there are clusters less strata.
        fpc: with strata: name of a column with the number of clusters in the stratum, or the share that was drawn.
        lonely_psu: what to do about a stratum with one cluster: "error" (default), or "adjust", as in R.
        replicates: names of columns of replicate weights, or a pattern such as "w_rep*": the model is fitted again with
            each, and standard errors come from the spread, as in `svrepdesign`.
        replicate_kind: "JK1", "JKn", "BRR", "Fay" or "bootstrap".
        replicate_scale: of the spread, where it is not (R − 1)/R (JK1), 1 (JKn) or 1/(R − 1) (bootstrap).
        replicate_scales: of every replicate; JKn needs them.
        fay: ρ of Fay's method.

    >>> from askance import Direct, regress
    >>> table = {"said": ["yes", "no", "no"] * 8, "village": [i // 3 for i in range(24)], "region": ["n", "s"] * 12}
    >>> drawn = Drawn(cluster="village", strata="region")
    >>> regress("said ~ 1", table, Direct(["no", "yes"]), drawn=drawn).messages
    ('std. errors: 16 clusters by village in 2 strata by region, t with 14 degrees of freedom',)
    """

    weights: str | None = None
    cluster: str | None = None
    strata: str | None = None
    fpc: str | None = None
    lonely_psu: Literal["error", "adjust"] = "error"
    replicates: Sequence[str] | str | None = None
    replicate_kind: ReplicateKind | None = None
    replicate_scale: float | None = None
    replicate_scales: Sequence[float] | None = None
    fay: float | None = None

    def over(self, other: Drawn) -> Drawn:
        """What is said here, and what `other` says beyond."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(other, **{name: value for name, value in said.items() if value is not getattr(Drawn, name)})

    def columns(self, known: Sequence[str]) -> dict[str, Any]:
        """Names of columns by what they are for, of those of a table; refuses what does not go together."""
        self._check()
        own = {name: getattr(self, name) for name in ("weights", "cluster", "strata", "fpc")}
        return own | {f"replicates[{place}]": name for place, name in enumerate(self.copies(known))}

    def copies(self, known: Sequence[str]) -> list[str]:
        """Columns of replicate weights, in the order of the table where a pattern names them."""
        if self.replicates is None:
            return []
        copies = list(self.replicates)
        if isinstance(self.replicates, str):
            copies = [name for name in known if fnmatchcase(name, self.replicates) and name != self.weights]
        if len(copies) < 2:
            raise InputError(
                f"{len(copies)} columns are called {shown(self.replicates)}; allowed: at least 2 replicates.",
                remedy="Write a pattern such as w_rep*, which their names have in common.",
            )
        return copies

    def _check(self) -> None:
        one_of(self.lonely_psu, ("error", "adjust"), "lonely_psu", "The default is error.")
        if self.fpc is not None and self.strata is None:
            raise InputError(
                words("{fpc} is given without {strata}."), remedy=words("Name a column of {strata=…} too.")
            )
        of_replicates = (self.replicate_kind, self.replicate_scale, self.replicate_scales, self.fay)
        if self.replicates is None:
            if any(told is not None for told in of_replicates):
                raise InputError(
                    words("what is said of {replicates} is given without them."), remedy=words("Name {replicates}.")
                )
        elif self.cluster is not None or self.strata is not None:
            raise InputError(
                words("{replicates} are given with {cluster} or {strata}, which they stand for."),
                remedy="Leave one or the other out.",
            )
        elif self.weights is None:
            raise InputError(
                words("{replicates} are given without {weights}."), remedy=words("Name the {weights=…} too.")
            )

    def require_offered(self, model: object, channel: FiniteChannel | Mapping[Any, FiniteChannel]) -> None:
        """Refuse what a model does not know of, and a correction that would take away the noise of the device."""
        if self.replicates is not None and not isinstance(model, Softmax):
            raise InputError(
                words("{replicates} are not offered where more is hidden than the answer."),
                remedy=words("Take {cluster=…}, which holds without them."),
            )
        if self.strata is not None and isinstance(model, CountMeans) and len(model.groups) == 1:
            raise InputError(
                words("{strata} are not offered with means of lists beside a direct question."),
                remedy=words("Take {method=marginal}, or {cluster=…} alone."),
            )
        designs = channel.values() if isinstance(channel, Mapping) else [channel]
        if self.fpc is not None and not all(isinstance(design, Direct) for design in designs):
            raise InputError(
                words(
                    "{fpc} is given where answers came through a device, whose noise does not shrink with the share "
                    "that was drawn; allowed: with the direct question alone."
                ),
                remedy=words("Leave {fpc} out: errors are then a little too large."),
            )
