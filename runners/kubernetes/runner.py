"""The Kubernetes runner's front: pure questions about a plan, and the way to a session on a
cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...engine.model.contract.runner import Session
from ...engine.model.contract.values import (
    ChartUse,
    Commands,
    Leftover,
    Problem,
    RenderedFile,
    Surroundings,
)
from ...engine.model.errors import RunFailed
from ...engine.model.results import Finding
from ...engine.model.spec import Experiment, Placement, Role, Site, Step, TrafficPath
from ...engine.model.text.image_names import is_pinned, is_stand_in
from ...engine.planning.allocation_request import (
    demand_of,
    http_tools,
    measures_devices,
    speaks_http,
    volumes_of,
)
from .options import Options, read_options
from .pods.manifests import NODE_PORTS, RAW

_PATHS = frozenset(
    {
        None,
        TrafficPath.POD_TO_POD,
        TrafficPath.POD_TO_SERVICE,
        TrafficPath.POD_TO_HOST,
        TrafficPath.HOST_TO_HOST,
        TrafficPath.HOST_TO_SERVICE,
        TrafficPath.NODE_PORT,
        TrafficPath.INGRESS,
        TrafficPath.MESH,
    }
)


def _unfit_volumes(experiment: Experiment, wanted: bool) -> Iterator[Problem]:
    """What the spec says about a volume and this experiment cannot have."""
    storage = experiment.storage
    if storage.get("class") is None and (
        said := [key for key in ("mode", "ephemeral") if key in storage]
    ):
        yield Problem(
            message=f"found storage.{said[0]} without a class",
            remedy="name the storage class that the volume is of",
        )
    if wanted and storage.get("mode") == RAW:
        if not measures_devices(experiment.tool):
            yield Problem(
                message=(
                    f"found storage.mode: Block for {experiment.tool}, which cannot measure a raw"
                    " device"
                ),
                remedy="use fio",
            )
        if said := [key for key in ("path", "filesystem") if key in storage]:
            yield Problem(
                message=f"found storage.{said[0]} and mode: Block, where there is no file system",
                remedy=f"leave out {said[0]}",
            )


def _unfit_ports(experiment: Experiment) -> Iterator[Problem]:
    """Ports that the spec names and no NodePort can have."""
    others = [port for port in demand_of(experiment).fixed_ports if port not in NODE_PORTS]
    if others and experiment.path is TrafficPath.NODE_PORT:
        told = f"{NODE_PORTS[0]} to {NODE_PORTS[-1]}"
        yield Problem(
            message=(
                f"found port {others[0]} for {experiment.tool} on path node-port, expected {told}"
            ),
            remedy="name none, or one of these",
        )


def _unfit_images(
    experiment: Experiment, options: Options, roles: Sequence[Role]
) -> Iterator[Problem]:
    """Images that nobody has, and those without the digest that the site wants."""
    image = options.common.image
    if not image or is_stand_in(image):
        yield Problem(
            message=f"found image {image}, which stands for one of yours"
            if image
            else "found no image, expected the tool image (`image`)",
            remedy=(
                "make one with `benchspec images build`, and let `benchspec images push` write its"
                " digest into the spec"
            ),
        )
        return
    images = {experiment.image or options.role(role).image for role in roles}
    images |= {one.image for role in roles for one in options.role(role).sidecars}
    if options.pin_required and (loose := sorted(one for one in images if not is_pinned(one))):
        yield Problem(
            message=(
                f"found image {loose[0]}, expected one with a digest (@sha256:...): the"
                " site says pin: required"
            ),
            remedy="name the image by its digest",
        )


class KubernetesRunner:
    """Runs programs in pods of one namespace."""

    KIND = "kubernetes"

    def unsupported(self, experiment: Experiment, site: Site) -> Sequence[Problem]:
        """Why this experiment cannot run here: paths that no pod takes, images without the digest
        the site wants, classes without provisioner.
        """
        problems = [*_unfit_ports(experiment)]
        if experiment.path not in _PATHS:
            problems.append(
                Problem(
                    message=(
                        f"found path {experiment.path}, expected one of"
                        f" {', '.join(sorted(path for path in _PATHS if path))}"
                    ),
                    remedy=(
                        "choose another path, or measure what is in the way as a component of the"
                        " target"
                    ),
                )
            )
        if experiment.path is TrafficPath.MESH and not experiment.parameters.get("url"):
            problems.append(
                Problem(
                    message=(
                        f"found path mesh for {experiment.tool} without a url: a mesh has names of"
                        " its own for servers"
                    ),
                    remedy=(
                        "let the lifecycle make the server, and name it as the mesh does (`url`);"
                        " or choose pod-to-service, with the mesh's proxies"
                    ),
                )
            )
        if experiment.path is TrafficPath.INGRESS and not speaks_http(experiment.tool):
            problems.append(
                Problem(
                    message=(
                        f"found path ingress for {experiment.tool}, expected one of"
                        f" {', '.join(http_tools())}"
                    ),
                    remedy=(
                        "choose another path, such as pod-to-service: an ingress passes on HTTP"
                        " alone"
                    ),
                )
            )
        if (
            experiment.placement is Placement.SAME_NODE
            and experiment.path is TrafficPath.HOST_TO_HOST
        ):
            problems.append(
                Problem(
                    message="found path host-to-host on the same node, which is its loopback",
                    remedy="use placement: across-nodes",
                )
            )
        options = read_options(site)
        roles = [place.role for place in experiment.roles if place.site == site.name]
        problems += _unfit_images(experiment, options, roles)
        storage = experiment.storage
        wanted = bool(volumes_of(experiment) and storage.get("class"))
        if wanted and storage.get("create") is True and not storage.get("provisioner"):
            problems.append(
                Problem(
                    message="found storage with create: true and no provisioner",
                    remedy="name the provisioner of the class",
                )
            )
        return [*problems, *_unfit_volumes(experiment, wanted)]

    def unsupported_step(self, step: Step, site: Site) -> Sequence[Problem]:
        """Why this lifecycle step cannot be carried out here: charts of no certain version, what no
        condition is, hosts that there are not.
        """
        if step.action == "chart" and not (
            step.arguments.get("version") or str(step.arguments["name"]).startswith("./")
        ):
            message = (
                f"step {step.name}: found a chart without version, which may be another one"
                " tomorrow"
            )
            return [Problem(message=message, remedy="name the chart's `version`")]
        if "condition" in step.arguments and "${" not in str(step.arguments["condition"]):
            from .steps.conditions import read_condition

            try:
                read_condition(str(step.arguments["condition"]))
            except RunFailed as error:
                return [
                    Problem(
                        message=f"step {step.name}: {error.message}",
                        remedy="write it as for kubectl wait",
                    )
                ]
        if step.on == Role.CONTROL_PLANE:
            return [
                Problem(
                    message=f"step {step.name}: found on: {step.on}, where no pods run",
                    remedy="use on: controller",
                )
            ]
        return []

    def steering(self, site: Site, folder: str) -> tuple[Mapping[str, str], Mapping[str, bytes]]:
        """A kubeconfig for kubectl and helm on the controller: the site's context, in its
        namespace. Raises RunFailed.
        """
        from .steps.steering import steer

        return steer(site, folder)

    def chart_words(self, site: Site, use: ChartUse) -> tuple[str, ...]:
        """What helm is told to install or remove a chart."""
        from .steps import charts

        return charts.words(site, use)

    def chart_command(self, site: Site, use: ChartUse) -> tuple[str, ...]:
        """Helm, kept from releases that are not of this run. Raises MissingTool."""
        from .steps import charts

        return charts.command(site, use)

    def step_hosts(self, site: Site) -> Mapping[Role, str]:
        """None: a cluster is steered from the controller."""
        return {}

    def check(self, site: Site) -> Sequence[Finding]:
        """Doctor: reachability, rights, version."""
        from . import doctor

        return doctor.check(site)

    def render(
        self, experiment: Experiment, site: Site, commands: Commands
    ) -> Sequence[RenderedFile]:
        """The manifests that would be created, the files that would be placed and the commands that
        would be executed.
        """
        from . import render

        return render.render(experiment, site, commands)

    def placeholders(self, experiment: Experiment, site: Site) -> Surroundings:
        """Stand-in endpoints and directories for rendering."""
        from . import render

        return render.placeholders(experiment, site)

    def connect(self, site: Site, run_id: str) -> Session:
        """Reach the cluster and take its nodes for this run. Raises Unreachable, Refused,
        Locked.
        """
        from .connect import connect

        return connect(site, run_id)

    def leftovers(self, site: Site, run_id: str) -> Sequence[Leftover]:
        """The objects of that run that still exist on the site."""
        from . import leftovers

        return leftovers.find(site, run_id)

    def remove(self, site: Site, leftover: Leftover) -> None:
        """Remove one leftover; never anything benchspec did not create."""
        from . import leftovers

        leftovers.remove(site, leftover)
