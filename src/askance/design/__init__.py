"""What a channel costs and guarantees before any data exist: covariances, efficiency, certificates, audits, plans."""

from askance.design.asked import Share
from askance.design.audit import Audit, audit
from askance.design.certificate import certify
from askance.design.closed_forms import (
    SmallLevelTraces,
    coordinate_release_excess_covariance,
    crossover,
    per_value_excess_covariance,
    randomized_response_excess_covariance,
    small_level_traces,
)
from askance.design.conditional_covariances import conditional_asymptotics
from askance.design.covariances import Asymptotics, asymptotics
from askance.design.field_release import plan_field
from askance.design.optimum import OptimalChannel, Prior, optimal_channel
from askance.design.plan import Plan, PlannedDesign, plan_survey
from askance.design.proof import Certificate
from askance.design.recommend import Recommendation, Recommended, recommend
from askance.design.statistics_covariances import StatisticsAsymptotics
from askance.design.survey_guess import SurveyGuess, guess_survey, sample_covariates
from askance.design.yes_no import design_at_level, textbook_design, yes_no_kinds

__all__ = [
    "Asymptotics",
    "Audit",
    "Certificate",
    "OptimalChannel",
    "Plan",
    "PlannedDesign",
    "Prior",
    "Recommendation",
    "Recommended",
    "Share",
    "SmallLevelTraces",
    "StatisticsAsymptotics",
    "SurveyGuess",
    "asymptotics",
    "audit",
    "certify",
    "conditional_asymptotics",
    "coordinate_release_excess_covariance",
    "crossover",
    "design_at_level",
    "guess_survey",
    "optimal_channel",
    "per_value_excess_covariance",
    "plan_field",
    "plan_survey",
    "randomized_response_excess_covariance",
    "recommend",
    "sample_covariates",
    "small_level_traces",
    "textbook_design",
    "yes_no_kinds",
]
