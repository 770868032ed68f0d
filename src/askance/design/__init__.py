"""What a channel costs and guarantees before any data exist: covariances, efficiency, certificates, plans."""

from askance.design.asked import Share
from askance.design.certificate import certify
from askance.design.closed_forms import randomized_response_excess_covariance
from askance.design.conditional_covariances import conditional_asymptotics
from askance.design.covariances import Asymptotics, asymptotics
from askance.design.plan import Plan, PlannedDesign, plan_survey
from askance.design.proof import Certificate
from askance.design.survey_guess import SurveyGuess, guess_survey, sample_covariates
from askance.design.yes_no import design_at_level, textbook_design, yes_no_kinds

__all__ = [
    "Asymptotics",
    "Certificate",
    "Plan",
    "PlannedDesign",
    "Share",
    "SurveyGuess",
    "asymptotics",
    "certify",
    "conditional_asymptotics",
    "design_at_level",
    "guess_survey",
    "plan_survey",
    "randomized_response_excess_covariance",
    "sample_covariates",
    "textbook_design",
    "yes_no_kinds",
]
