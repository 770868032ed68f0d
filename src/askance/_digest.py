"""Short texts that stand for the meaning of noised numbers."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def purpose_of(what: str, content: Any) -> str:
    """What noised numbers are for: a word, and a digest of names, bounds or labels (plain JSON values).

    >>> purpose_of("pilot", {"age": [18, 90]})
    'pilot:16dac78b21f0ac57'
    """
    text = json.dumps(content, sort_keys=True)
    return f"{what}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
