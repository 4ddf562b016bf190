"""The packages of the wheel: every folder of a room that has an ``__init__.py``, so that a new
folder is never forgotten.

Everything else about the project is in pyproject.toml, whose tables cannot say that ``engine/`` is
``benchspec.engine``.
"""

from __future__ import annotations

from setuptools import find_packages, setup

ROOMS = ("api", "cli", "engine", "reports", "runners", "schemas", "specs", "workloads")

setup(
    script_name="setup.py",  # front ends call it by other names, and then it would be in the wheel
    packages=[
        "benchspec",
        *(f"benchspec.{name}" for name in find_packages() if name.partition(".")[0] in ROOMS),
    ]
)
