"""What a channel costs and guarantees before any data exist: covariances, efficiency, certificates, audits."""

from askance.design.audit import Audit, audit, log_ratio_bound
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
from askance.design.field_release import field_release, plan_field
from askance.design.optimum import (
    OptimalChannel,
    OptimalCliques,
    Prior,
    optimal_channel,
    optimal_cliques,
    optimal_release,
)
from askance.design.proof import Certificate
from askance.design.recommend import Recommendation, Recommended, recommend
from askance.design.regression_release import plan_regression, regression_release
from askance.design.statistics_covariances import StatisticsAsymptotics

__all__ = [
    "Asymptotics",
    "Audit",
    "Certificate",
    "OptimalChannel",
    "OptimalCliques",
    "Prior",
    "Recommendation",
    "Recommended",
    "SmallLevelTraces",
    "StatisticsAsymptotics",
    "asymptotics",
    "audit",
    "certify",
    "conditional_asymptotics",
    "coordinate_release_excess_covariance",
    "crossover",
    "field_release",
    "log_ratio_bound",
    "optimal_channel",
    "optimal_cliques",
    "optimal_release",
    "per_value_excess_covariance",
    "plan_field",
    "plan_regression",
    "randomized_response_excess_covariance",
    "recommend",
    "regression_release",
    "small_level_traces",
]
