"""What a channel costs and guarantees before any data exist: asymptotic covariances, efficiency, certificates."""

from askance.design.asymptotics import Asymptotics, asymptotics
from askance.design.certify import Certificate, certify
from askance.design.closed_forms import randomized_response_excess_covariance

__all__ = ["Asymptotics", "Certificate", "asymptotics", "certify", "randomized_response_excess_covariance"]
