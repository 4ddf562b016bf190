"""JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .terminal import echo


def print_json(value: Mapping[str, Any]) -> None:
    """One JSON document on stdout."""
    echo(json.dumps(value, indent=2, ensure_ascii=False))
