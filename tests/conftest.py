"""What all tests share: examples of Hypothesis that do not change, and what runs again as on other processors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.collectors import Served

# The same examples in every run, and none that is too slow: what was green stays green, on however busy a machine.
# `pytest --hypothesis-profile explore` looks for new ones.
settings.register_profile(
    "same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.register_profile("explore", settings.get_profile("same"), derandomize=False, max_examples=1000)
settings.load_profile("same")

# Files that take longest, first: the last one of a run keeps one process busy while the others are done.
LONGEST = (
    *("test_reproduce_all.py", "test_pages.py", "test_reproduce_digits.py", "test_statistical.py", "test_cli.py"),
    *("test_threads.py", "test_pictures.py", "test_secrets.py", "test_sklearn.py", "test_demo.py"),
)

# What no processor can change, with the reason. It runs as on this one, and not again.
NOT_NUMERICAL = {
    "files of text are read and written": (
        *("test_annotation_tools.py", "test_annotation_writing.py", "test_conllu.py", "test_corpus.py"),
        *("test_filled_sheet.py", "test_questions.py", "test_region_file.py", "test_region_sampling.py"),
        *("test_tagged_text.py", "test_text_features.py", "test_untidy_text.py", "test_cli_regions.py"),
    ),
    "files of reports, states and tables hold bytes and integers": (
        *("test_bad_reports.py", "test_damaged_files.py", "test_damaged_tables.py", "test_disk.py", "test_formats.py"),
        *("test_toml_file.py", "test_damaged_commands.py"),
        *("test_killed.py", "test_report_files.py", "test_report_states.py", "test_sources.py", "test_streams.py"),
        *("test_table_limits.py", "test_tables.py", "test_telemetry_mistakes.py", "test_store.py"),
        *("test_store_reader.py", "test_store_writer.py", "test_store_killed.py", "test_collect_killed.py"),
        *("test_power_cut.py", "test_campaign_file.py", "test_collect_pages.py", "test_cli_collect.py"),
        *("test_collect_server.py", "test_collect_failures.py", "test_device_js.py", "test_permanent_answers.py"),
        "test_rehearsal.py",
        *("test_counting_queue.py", "test_counting_page.py"),
        *("test_collect_wheel.py", "test_survey_html.py", "test_survey_page.py", "test_survey_barriers.py"),
        *("test_deploying.py", "test_survey_draws.py", "test_preview.py", "test_dashboard_pages.py"),
    ),
    "messages, help, names, and which steps are taken": (
        *("test_awkward_input.py", "test_bad_input.py", "test_channel_differences.py", "test_cli_help.py"),
        "test_former_names.py",
        *("test_cli_refusals.py", "test_even_steps.py", "test_notation.py", "test_package.py", "test_purposes.py"),
        *("test_secrets.py", "test_which_channel.py", "test_limits_told.py"),
    ),
    "sums, counts and thresholds are integers, levels are compared as fractions": (
        *("test_calibration.py", "test_cli_certify.py", "test_levels.py", "test_one_tally.py", "test_possible_sums.py"),
        *("test_randomized_response.py", "test_randomness.py", "test_statistics_reports.py", "test_tally.py"),
    ),
    "pictures, the site, and tools around the library": (
        *("test_benchmarks.py", "test_pictures.py", "test_reproduce_runner.py", "test_site.py", "test_tools.py"),
        "test_site_in_browser.py",
    ),
    "two runs on the same processor are compared with each other": (
        *("test_acceptance_surveys.py", "test_dask.py", "test_engines.py", "test_reproduce_digits.py"),
        *("test_spark.py", "test_threads.py", "test_tagger_engines.py"),
    ),
    "parts of what test_pages.py, test_cli.py and test_reproduce_all.py run again as a whole": (
        *("test_demo.py", "test_reproduce_privacy.py", "test_reproduce_tagging.py", "test_sklearn.py"),
    ),
    "shares of simulated surveys, which last bits do not move; test_frozen.py has the estimates": (
        "test_statistical.py",
    ),
}

# What runs again once, as on the kind of processor that is least like those people have: all of it calls functions
# whose own tests run again on every kind. `src` are the examples of docstrings.
ON_ONE_KIND = {
    "examples, which show few digits": ("src", "test_pages.py"),
    "commands, which print what Python returns": (
        *("test_cli.py", "test_cli_fit.py", "test_cli_fit_model.py", "test_cli_optimal.py", "test_cli_plan.py"),
        *("test_cli_plan_precision.py", "test_cli_private_models.py", "test_cli_reports.py", "test_cli_synth.py"),
        *(
            "test_cli_tag.py",
            "test_cli_train.py",
            "test_cli_vectors.py",
            "test_planning_commands.py",
            "test_tagger_files.py",
            "test_example_files.py",
        ),
    ),
    "experiments and their pictures": (
        *("test_geometry.py", "test_geometry_em.py", "test_geometry_likelihood.py", "test_geometry_simplex.py"),
        *("test_reproduce.py", "test_reproduce_all.py"),
    ),
    "thin layers over the estimators": (
        *("test_fit_files.py", "test_one_table.py", "test_regression_formats.py", "test_result_tables.py"),
        *("test_dashboard.py", "test_counting_report.py"),
    ),
    "laws by enumeration and in fractions": ("errata", "test_closed_forms_exact.py", "test_statistics_covariances.py"),
}


def left_out(choice: str) -> set[str]:
    """Names of files and folders that `--numerical` leaves out: "all" that could differ, or the "core" of it."""
    lists = (*NOT_NUMERICAL.values(), *(ON_ONE_KIND.values() if choice == "core" else ()))
    return {name for names in lists for name in names}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--numerical", choices=("all", "core"), help="only what the processor could make a difference to")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    choice = config.getoption("--numerical")
    return True if choice and collection_path.name in left_out(choice) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONGEST)))


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[Served]:
    """A server of the campaign `SURVEY`, which nobody has answered yet."""
    from tests.collectors import collection_in, served  # most tests need no server

    with served(collection_in(tmp_path)) as running:
        yield running


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are left out of the names of tests, which every process that shares the work must find the same.

    A packed file holds the time it was packed at: a name made from its bytes may change from one second to the next.
    """
    return f"{argname} of {len(val)} bytes" if isinstance(val, bytes) else None
