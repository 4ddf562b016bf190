"""The work directories of lifecycle steps: one per attempt on every machine, with whatever the
steps there left running.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...model.contract.runner import Allocation, Session
from ...model.errors import BenchspecError, RunFailed, TransportLost
from ...model.spec import Role, RolePlace
from ..state import Standing
from .places import StepPlace

Door = Callable[[StepPlace], Session]
"""The session that reaches a machine. Raises TransportLost when there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workdirs:
    """Each is made with the first step of an attempt on a machine, and lasts until the attempt is
    over.
    """

    door: Door
    _held: dict[tuple[str, tuple[str, Role]], tuple[StepPlace, Session, Allocation]] = field(
        default_factory=dict
    )

    def allocation(self, standing: Standing, place: StepPlace) -> Allocation:
        """What starts the attempt's jobs on one machine."""
        attempt, session = standing.bringing.allocation_id, self.door(place)
        held = self._held.get((attempt, place.key))
        if (
            held is None or held[1] is not session
        ):  # another session takes over what the one that was lost had
            roles = (RolePlace(role=place.role, site=place.site.name),)
            held = (place, session, session.allocate(roles, f"{attempt}-{place.role.value}"))
            self._held[attempt, place.key] = held
        return held[2]

    def path(self, standing: Standing, place: StepPlace) -> str:
        """Where the steps on this machine are carried out."""
        return self.allocation(standing, place).surroundings().workdirs[place.role]

    def put_script(self, standing: Standing, place: StepPlace, name: str, data: bytes) -> None:
        """Place a script. Raises RunFailed when it did not arrive as it was sent."""
        allocation = self.allocation(standing, place)
        allocation.put(place.role, name, data)
        if allocation.get(place.role, name) != data:
            raise RunFailed(
                f"the script {name} did not arrive on {place.host} as it was sent",
                remedy="look for a full or failing disk there",
            )

    def release(self, standing: Standing) -> list[BenchspecError]:
        """End what the attempt's steps left running and remove its work directories; why some could
        not be.
        """
        errors: list[BenchspecError] = []
        for key in [key for key in self._held if key[0] == standing.bringing.allocation_id]:
            place = self._held[key][0]
            try:
                if place.key in standing.lost:
                    raise TransportLost(standing.lost[place.key])
                self.allocation(standing, place).release()
            except BenchspecError as error:
                errors.append(error)
            del self._held[key]
        return errors
