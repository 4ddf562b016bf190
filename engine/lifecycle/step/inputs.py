"""What lifecycle steps are given: their texts with outputs and secrets put in, and the secrets that
must not be kept.

A secret, and an output that holds one, goes into the environment of a step (or the address of a
wait) and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...model.errors import RunFailed
from ...model.secrets import MINIMUM_LENGTH, parse_reference, redact, resolve
from ...model.spec import Json, Step
from ..outputs import Resolve, fill_text, fill_value, references
from ..state import WHOLE_RUN, Standing, Standings
from .objects import read_objects


class Inputs:
    """Outputs and secrets as the steps of one run come to need them."""

    def __init__(self, standings: Standings) -> None:
        self._standings = standings
        self._secrets: set[str] = set()

    def words(self, standing: Standing, texts: Iterable[str]) -> tuple[str, ...]:
        """Arguments with their outputs put in. Raises RunFailed for a secret, or an output that is
        unknown or holds one.
        """
        output = self._outputs(standing, secret=False)
        return tuple(fill_text(text, output, _refuse_secret) for text in texts)

    def wait(self, standing: Standing, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """The arguments of a wait. Raises RunFailed."""
        output = self._outputs(standing, secret=False)
        return {
            kind: fill_text(str(value), output, self._secret) for kind, value in arguments.items()
        }

    def arguments(self, standing: Standing, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
        """The arguments of a chart with their outputs put in. Raises RunFailed."""
        filled = fill_value(arguments, self._outputs(standing, secret=False))
        return filled if isinstance(filled, Mapping) else arguments

    def objects(self, standing: Standing, data: bytes) -> tuple[Mapping[str, Json], ...]:
        """The objects of a manifest. Raises RunFailed."""
        output = self._outputs(standing, secret=False)
        return tuple(_filled(one, output) for one in read_objects(data))

    def environment(
        self, standing: Standing, env: Mapping[str, str]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """The variables that may be shown, and those that hold a secret. Raises RunFailed."""
        plain: dict[str, str] = {}
        secret: dict[str, str] = {}
        output = self._outputs(standing, secret=True)
        for name, text in env.items():
            hidden = references(text, "secret") or any(
                self._is_secret(standing, used) for used in references(text, "output")
            )
            (secret if hidden else plain)[name] = fill_text(text, output, self._secret)
        return plain, secret

    def knows_secrets(self, step: Step) -> bool:
        """Whether all secrets of ``step`` can be read (again): what it printed can only be kept if
        they can be blotted out.
        """
        try:
            for name in references(step.env, "secret") | references(step.arguments, "secret"):
                self._secret(name)
        except RunFailed:
            return False
        return True

    def redacted(self, data: bytes) -> bytes:
        """``data`` without any secret that was given to a step."""
        return redact(data, self._secrets)

    def holds_secret(self, value: str) -> bool:
        """Whether a secret that was given to a step is in ``value``."""
        return any(len(secret) >= MINIMUM_LENGTH and secret in value for secret in self._secrets)

    def _secret(self, name: str) -> str:
        reference = parse_reference(f"${{secret:{name}}}")
        if reference is None:
            raise RunFailed(f"found the secret {name!r} of an unknown kind")
        value = resolve(reference)
        self._secrets.add(value)
        return value

    def _attempts(self, standing: Standing) -> tuple[Standing, ...]:
        """Whose outputs count: those of the attempt itself, and of what stands for the whole
        run.
        """
        whole = self._standings.last.get((standing.bringing.target, WHOLE_RUN))
        return (standing,) if whole is None or whole is standing else (whole, standing)

    def _is_secret(self, standing: Standing, name: str) -> bool:
        return any(name in attempt.withheld for attempt in self._attempts(standing))

    def _outputs(self, standing: Standing, *, secret: bool) -> _Outputs:
        values: dict[str, str] = {}
        withheld: set[str] = set()
        for attempt in self._attempts(standing):
            values |= attempt.outputs | (attempt.secret_outputs if secret else {})
            withheld |= attempt.withheld
        return _Outputs(values, withheld)


class _Outputs:
    """Outputs by ``STEP.NAME``; calling it gives the value. Raises RunFailed for one that was not
    captured or may not be shown.
    """

    def __init__(self, values: Mapping[str, str], withheld: set[str]) -> None:
        self._values = values
        self._withheld = withheld

    def __call__(self, name: str) -> str:
        if name in self._values:
            return self._values[name]
        if name in self._withheld:
            raise RunFailed(
                f"${{output:{name}}} holds a secret, which may stand in a step's env only, and is"
                " not kept when a run is resumed"
            )
        raise RunFailed(
            f"${{output:{name}}} was not captured: the step that captures it was not carried out,"
            " or failed"
        )


def _filled(one: Mapping[str, Json], output: Resolve) -> Mapping[str, Json]:
    if references(one, "secret"):
        raise RunFailed(
            "found a secret in a manifest, whose text is kept with the run",
            remedy="make the Secret in a script step, with the value in the step's env",
        )
    filled = fill_value(one, output)
    return filled if isinstance(filled, Mapping) else one


def _refuse_secret(name: str) -> str:
    raise RunFailed(
        f"the secret {name} stands in an argument, where every user of the host can read it"
    )
