"""Lifecycles of the document as the model has them."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.spec import Json, Lifecycle, Step
from ..model.text.json_access import items, mapping, quantity, text, whole
from ..model.units import Dimension

ACTIONS = ("run", "script", "manifest", "chart", "wait")
"""What a step can do. ``arguments`` of the model's step: ``argv`` of run, ``file`` of script and
manifest, the mapping of chart and wait.
"""


def build_lifecycle(found: Mapping[str, Json]) -> Lifecycle:
    """A ``lifecycle`` section; an empty one where there is none."""
    return Lifecycle(
        bootstrap=_steps(found.get("bootstrap")),
        ready=_steps(found.get("ready")),
        destroy=_steps(found.get("destroy")),
        per=text(found.get("per")) or Lifecycle().per,
    )


def _steps(value: Json) -> tuple[Step, ...]:
    return tuple(_step(mapping(step)) for step in items(value))


def _step(found: Mapping[str, Json]) -> Step:
    action = next(key for key in ACTIONS if key in found)
    delay, timeout = (
        quantity(found.get("retry_delay"), Dimension.TIME),
        quantity(found.get("timeout"), Dimension.TIME),
    )
    default = Step(name="", action=action, arguments={})
    return Step(
        name=text(found["name"]),
        action=action,
        arguments=_arguments(action, found[action]),
        site=text(found.get("site")) or None,
        on=_on(found.get("on")),
        capture=mapping(found.get("capture")),
        retries=whole(found.get("retries")) or default.retries,
        retry_delay_s=default.retry_delay_s if delay is None else delay,
        timeout_s=default.timeout_s if timeout is None else timeout,
        env={name: text(value) for name, value in mapping(found.get("env")).items()},
    )


def _on(value: Json) -> str | tuple[str, ...] | None:
    return (
        tuple(map(text, items(value))) if isinstance(value, list | tuple) else text(value) or None
    )


def _arguments(action: str, value: Json) -> Mapping[str, Json]:
    if action == "run":
        return {"argv": list(items(value))}
    return {"file": text(value)} if action in ("script", "manifest") else mapping(value)
