"""What a channel costs and guarantees before any data exist: covariances, efficiency, certificates, audits."""

from typing import TYPE_CHECKING as _TYPES_ALONE

from askance._former import former_names as _former_names
from askance.design.audit import Audit as Audit
from askance.design.audit import audit as audit
from askance.design.audit import log_ratio_bound as log_ratio_bound
from askance.design.certificate import Certificate as Certificate
from askance.design.certificate import certify as certify
from askance.design.closed_forms import SmallLevelTraces as SmallLevelTraces
from askance.design.closed_forms import coordinate_release_excess_covariance as coordinate_release_excess_covariance
from askance.design.closed_forms import crossover as crossover
from askance.design.closed_forms import per_value_excess_covariance as per_value_excess_covariance
from askance.design.closed_forms import randomized_response_excess_covariance as randomized_response_excess_covariance
from askance.design.closed_forms import small_level_traces as small_level_traces
from askance.design.conditional_covariances import conditional_asymptotics as conditional_asymptotics
from askance.design.covariances import Asymptotics as Asymptotics
from askance.design.covariances import asymptotics as asymptotics
from askance.design.field_release import field_release as field_release
from askance.design.optimum import OptimalChannel as OptimalChannel
from askance.design.optimum import OptimalCliques as OptimalCliques
from askance.design.optimum import Prior as Prior
from askance.design.optimum import optimal_channel as optimal_channel
from askance.design.optimum import optimal_cliques as optimal_cliques
from askance.design.optimum import optimal_release as optimal_release
from askance.design.recommend import Recommendation as Recommendation
from askance.design.recommend import Recommended as Recommended
from askance.design.recommend import recommend as recommend
from askance.design.regression_release import regression_release as regression_release
from askance.design.statistics_covariances import StatisticsAsymptotics as StatisticsAsymptotics

if not _TYPES_ALONE:
    __getattr__ = _former_names(__name__, globals().__getitem__)
