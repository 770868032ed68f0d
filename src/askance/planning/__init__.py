"""Before any data exist: error, interval width or power ↔ respondents ↔ privacy level, all channels side by side."""

from askance.planning.comparison import OtherArm as OtherArm
from askance.planning.counts import Counted as Counted
from askance.planning.guessed_design import GuessedDesign as GuessedDesign
from askance.planning.hypothesis import Hypothesis as Hypothesis
from askance.planning.plan import plan as plan
from askance.planning.result import Plan as Plan
from askance.planning.result import PlannedDesign as PlannedDesign
from askance.planning.survey import plan_survey as plan_survey
from askance.planning.survey_guess import SurveyGuess as SurveyGuess
from askance.planning.survey_guess import guess_survey as guess_survey
from askance.planning.survey_guess import sample_covariates as sample_covariates
from askance.planning.targets import Share as Share
from askance.planning.yes_no import design_at_level as design_at_level
from askance.planning.yes_no import textbook_design as textbook_design
from askance.planning.yes_no import yes_no_kinds as yes_no_kinds
