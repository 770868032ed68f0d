"""What all tests share."""


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are left out of the names of tests, which every process that shares the work must find the same.

    A packed file holds the time it was packed at: a name made from its bytes may change from one second to the next.
    """
    return f"{argname} of {len(val)} bytes" if isinstance(val, bytes) else None
