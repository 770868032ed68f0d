"""What can go wrong, as a hierarchy.

Every message names the value received, what is allowed, and the way out; of what is about to be noised it names the
position instead, since messages are kept in logs.

- AskanceError                    everything raised on purpose
  - InputError (ValueError)       a value given by the caller is not usable
    - ProbabilityError            outside [0, 1], or a column that does not sum to 1
    - LabelError                  a label that the channel or model does not know
    - MissingValueError           NaN or None among the data
    - EmptyDataError              nothing to estimate from
    - ShapeError                  arrays whose sizes do not fit together
  - NotIdentifiedError            the channel cannot see, or the model cannot separate, some statistic
  - IncompatibleEvidenceError     evidence of different channels, or of another model's outputs
  - FormatError                   a file that is truncated, altered, foreign or of an unknown version
- AskanceWarning (UserWarning)    a result that needs a second look
  - ImpossibleReportsWarning      the reports cannot have come through their channel, whatever the truth
  - RepairWarning                 the raw moments were no moments of any distribution; a weak prior acted
  - ClippingWarning               many values were clipped before they were noised
  - UnaskedTagsWarning            tags that nobody looked for cannot be told apart
  - IndistinctTagsWarning         tags that have equal counts everywhere, or the same share of every region
  - ForeignTagsWarning            true tags that the tagger does not know, which it can never get right
  - UntidyTextWarning             a file of text holds what nobody sees: blanks around words, characters without shape
  - MultipleMaximaWarning         starts of a non-convex fit ended in different places
  - ConvergenceWarning            an iteration stopped before it converged
  - UnmodelledGroupsWarning       groups that a model does not know differ in its eyes by their covariates alone
  - BlindSpotWarning              a channel made for some θ tells nothing about others between them
"""

from __future__ import annotations

from typing import Self

from askance import _words


class AskanceError(Exception):
    """Base of all errors raised on purpose.

    Attributes:
        message: what is wrong: the value received, and what is allowed.
        remedy: the way out. The text of the error is both.
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        self.message, self.remedy = message, remedy
        super().__init__(f"{message} {remedy}".strip())

    def spelled(self, spelling: _words.Spelling) -> Self:
        """This error with other words for arguments and places; what it knows of them stays."""
        self.message, self.remedy = (_words.Words(text).spelled(spelling) for text in (self.message, self.remedy))
        self.args = (f"{self.message} {self.remedy}".strip(),)
        return self

    def at(self, place: str) -> Self:
        """This error with a place in front, such as a file and its row."""
        self.message = _words.Words(f"{place}: ", self.message)
        return self.spelled(lambda part: None)


class InputError(AskanceError, ValueError):
    """A value given by the caller is not usable.

    Its message is a whole sentence, or made of what is known: "{argument} is {got}; allowed: {allowed}."

    >>> print(InputError(argument="share", got="2", allowed="0 to 1", remedy="Give no percentage."))
    share is 2; allowed: 0 to 1. Give no percentage.
    >>> print(InputError("has shape (3,)", argument="theta", allowed="(2,)"))
    theta has shape (3,); allowed: (2,).

    Args:
        message: a whole sentence; where there is an argument, what is said of it, without the full stop.
        argument: which one is at fault, or where in it the fault lies.
        got: the value as it is shown; empty where nobody shall read it.
        allowed: what would have been right.
        remedy: the way out.
    """

    def __init__(
        self,
        message: str = "",
        *,
        argument: str | _words.Part = "",
        got: object = "",
        allowed: str | _words.Part = "",
        remedy: str = "",
    ) -> None:
        self.argument, self.got, self.allowed = str(argument), str(got), str(allowed)
        if self.argument:
            subject = _words.Argument(argument) if type(argument) is str else argument
            limits = ("; allowed: ", allowed) if self.allowed else ()
            message = _words.Words(subject, " ", message or f"is {self.got}", *limits, ".")
        super().__init__(message, remedy=remedy)


class ProbabilityError(InputError):
    """A probability outside [0, 1], or probabilities that do not sum to 1."""


class LabelError(InputError):
    """A label that is not among the known ones."""


class MissingValueError(InputError):
    """NaN or None among the data."""


class EmptyDataError(InputError):
    """There is nothing to estimate from."""


class ShapeError(InputError):
    """Arrays whose sizes do not fit together."""


class NotIdentifiedError(AskanceError):
    """The channel cannot see, or the model cannot separate, some statistic."""


class IncompatibleEvidenceError(AskanceError):
    """Evidence collected through different channels, or about another model's outputs."""


class FormatError(AskanceError):
    """A file that is truncated, altered, foreign or of an unknown version."""


class AskanceWarning(UserWarning):
    """Base of all warnings."""


class ImpossibleReportsWarning(AskanceWarning):
    """The reports cannot have come through their channel, whatever the truth: estimates mean nothing."""


class RepairWarning(AskanceWarning):
    """The estimated moments belong to no distribution of the model; a weak prior acted."""


class ClippingWarning(AskanceWarning):
    """Many values lay outside what devices keep, and were clipped."""


class UnaskedTagsWarning(AskanceWarning):
    """Some tags were never looked for, and cannot be told apart."""


class IndistinctTagsWarning(AskanceWarning):
    """Tags have equal counts in all regions, or are the same share of each: counts do not say which words have them."""


class ForeignTagsWarning(AskanceWarning):
    """True tags are not among those of the tagger, which can never give them."""


class UntidyTextWarning(AskanceWarning):
    """A file of text holds what nobody sees: blanks around words and tags, or characters without a shape."""


class MultipleMaximaWarning(AskanceWarning):
    """The starts of a non-convex fit ended in different places."""


class ConvergenceWarning(AskanceWarning):
    """An iteration stopped before it converged."""


class UnmodelledGroupsWarning(AskanceWarning):
    """Groups were asked for that the model does not know: it cannot tell their shares apart."""


class BlindSpotWarning(AskanceWarning):
    """A channel made for some θ cannot tell them apart, or tells nothing about others between them."""
