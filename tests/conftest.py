"""What all tests share."""

import pytest

# Files that take longest, first: the last one of a run keeps one process busy while the others are done.
LONGEST = ("test_reproduce_all.py", "test_pages.py", "test_reproduce_digits.py", "test_cli.py", "test_pictures.py")
# No sum of these tests has last bits: they are about text, files, help, pictures and the package.
NOT_NUMERICAL = (
    *("test_annotation_tools.py", "test_annotation_writing.py", "test_benchmarks.py", "test_cli_help.py"),
    *("test_conllu.py", "test_corpus.py", "test_damaged_files.py", "test_damaged_tables.py", "test_disk.py"),
    *(
        "test_filled_sheet.py",
        "test_killed.py",
        "test_notation.py",
        "test_package.py",
        "test_pictures.py",
        "test_purposes.py",
    ),
    *("test_questions.py", "test_region_file.py", "test_secrets.py", "test_site.py", "test_sources.py"),
    *("test_streams.py", "test_table_limits.py", "test_tagged_text.py", "test_tools.py", "test_untidy_text.py"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--numerical", action="store_true", help="only what the processor could make a difference to")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--numerical"):
        left_out = [item for item in items if item.path.name in NOT_NUMERICAL]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.path.name not in NOT_NUMERICAL]
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONGEST)))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are left out of the names of tests, which every process that shares the work must find the same.

    A packed file holds the time it was packed at: a name made from its bytes may change from one second to the next.
    """
    return f"{argname} of {len(val)} bytes" if isinstance(val, bytes) else None
