"""Before any data exist: error, interval width or power ↔ respondents ↔ privacy level, all channels side by side."""

from askance.planning.plan import plan
from askance.planning.result import Plan, PlannedDesign
from askance.planning.survey import plan_survey
from askance.planning.survey_guess import SurveyGuess, guess_survey, sample_covariates
from askance.planning.targets import Share
from askance.planning.yes_no import design_at_level, textbook_design, yes_no_kinds

__all__ = [
    "Plan",
    "PlannedDesign",
    "Share",
    "SurveyGuess",
    "design_at_level",
    "guess_survey",
    "plan",
    "plan_survey",
    "sample_covariates",
    "textbook_design",
    "yes_no_kinds",
]
