"""What a channel costs and guarantees before any data exist: asymptotic covariances, efficiency, certificates."""

from askance.design.certificate import Certificate, certify
from askance.design.closed_forms import randomized_response_excess_covariance
from askance.design.covariances import Asymptotics, asymptotics

__all__ = ["Asymptotics", "Certificate", "asymptotics", "certify", "randomized_response_excess_covariance"]
