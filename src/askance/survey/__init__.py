"""From a researcher's table to a regression: tables of any brand, formulas, fits."""

from askance.estimation.checks.channel_fit import ChannelTest as ChannelTest
from askance.estimation.checks.channel_fit import channel_fit_test as channel_fit_test
from askance.survey.alternative_channels import safest_observation as safest_observation
from askance.survey.alternative_channels import with_bias as with_bias
from askance.survey.alternative_channels import with_noncompliance as with_noncompliance
from askance.survey.arm_agreement import ArmAgreement as ArmAgreement
from askance.survey.arm_agreement import arm_agreement as arm_agreement
from askance.survey.association import Association as Association
from askance.survey.association import association as association
from askance.survey.codebook import Codebook as Codebook
from askance.survey.codebook import Question as Question
from askance.survey.codebook import read_codebook as read_codebook
from askance.survey.files import read_table as read_table
from askance.survey.formula import FormulaDesign as FormulaDesign
from askance.survey.list_checks import ListChecks as ListChecks
from askance.survey.list_checks import list_checks as list_checks
from askance.survey.nonresponse import NonresponseBounds as NonresponseBounds
from askance.survey.nonresponse import nonresponse_bounds as nonresponse_bounds
from askance.survey.regress import regress as regress
from askance.survey.report import report_page as report_page
from askance.survey.report import write_report as write_report
from askance.survey.sensitivity import Sensitivity as Sensitivity
from askance.survey.sensitivity import sensitivity as sensitivity
from askance.survey.tables import Columns as Columns
