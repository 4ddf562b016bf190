"""A plausible finished run made by hand: two systems, network, storage and a service, with
everything a page must be able to say.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace

from benchspec.engine.analysis.analyse import analyse
from benchspec.engine.analysis.model import Analysis
from benchspec.engine.model.results import (
    ClaimCheck,
    ClaimState,
    Direction,
    Fact,
    FactSet,
    Finding,
    FindingLevel,
    GateResult,
    Measurement,
    Metric,
    RawFile,
    RunData,
    Trial,
    TrialKind,
    TrialStatus,
)
from benchspec.engine.model.spec import (
    Comparison,
    Experiment,
    Layer,
    Limit,
    Method,
    Price,
    ReportOptions,
    Role,
    RolePlace,
    Site,
    Spec,
    Target,
    WorkloadSpec,
)

METRICS: Mapping[str, tuple[Metric, ...]] = {
    "iperf3": (
        Metric(
            name="throughput",
            title="Throughput",
            unit="bit/s",
            direction=Direction.HIGHER,
            limits=("network.throughput",),
        ),
        Metric(name="retransmits", title="Retransmits", unit="1", direction=Direction.LOWER),
        Metric(
            name="cpu.local", title="CPU of the client", unit="ratio", direction=Direction.LOWER
        ),
    ),
    "fio": (
        Metric(
            name="iops.read",
            title="Read IOPS",
            unit="1/s",
            direction=Direction.HIGHER,
            limits=("storage.iops",),
        ),
        Metric(
            name="throughput.write",
            title="Write throughput",
            unit="B/s",
            direction=Direction.HIGHER,
        ),
        Metric(
            name="latency.read.mean", title="Mean read latency", unit="s", direction=Direction.LOWER
        ),
    ),
    "service": (
        Metric(name="latency.p99", title="Latency P99", unit="s", direction=Direction.LOWER),
    ),
}
JOB = {"read_iops": {"job": "read_iops"}, "write_bw": {"job": "write_bw"}}
CENTRES: Mapping[str, Mapping[str, Mapping[str, tuple[float, float]]]] = {
    "network[path=pod-to-pod]": {
        "throughput": {"aks": (1.02e9, 0.01), "c11n": (0.89e9, 0.012)},
        "retransmits": {"aks": (41.0, 0.3), "c11n": (66.0, 0.3)},
        "cpu.local": {"aks": (0.31, 0.05), "c11n": (0.52, 0.05)},
    },
    "network[path=pod-to-service]": {"throughput": {"aks": (1.01e9, 0.03), "c11n": (1.0e9, 0.03)}},
    "storage[job=read_iops]": {
        "iops.read": {"aks": (500.4, 0.002), "c11n": (499.1, 0.002)},
        "latency.read.mean": {"aks": (0.2557, 0.004), "c11n": (0.2561, 0.004)},
    },
    "storage[job=write_bw]": {
        "throughput.write": {"aks": (58.1e6, 0.004), "c11n": (58.7e6, 0.004)}
    },
    "vault": {"latency.p99": {"aks": (0.0214, 0.05), "c11n": (0.0181, 0.05)}},
}
PRIMARY = {"iperf3": "throughput", "fio": "iops.read{job=read_iops}", "service": "latency.p99"}
START = 1_679_300_000.0


def _target(name: str, title: str, price: float | None = None) -> Target:
    site = Site(name=name, runner="kubernetes", options={})
    source, day = "https://learn.example.org/disks", "2023-03-20"
    limits = (
        Limit(
            metric="storage.iops",
            sustained=500.0,
            burst=600.0,
            unit="1/s",
            layer=Layer.GOODPUT,
            applies_to="disk",
            source=source,
            as_of=day,
        ),
        Limit(
            metric="network.throughput",
            sustained=1.25e9,
            burst=1.25e9,
            unit="bit/s",
            layer=Layer.WIRE,
            applies_to=None,
            source=source,
            as_of=day,
        ),
    )
    cost = (
        None
        if price is None
        else Price(per_hour=price, currency="USD", source="https://prices.example.org", as_of=day)
    )
    return Target(
        name=name,
        title=title,
        sites={role.value: site for role in Role},
        claims={"cni.mtu": 1500, "cpu.count": 4},
        document={},
        limits=limits,
        price=cost,
    )


def make_spec() -> Spec:
    return Spec(
        api_version="benchspec/v1",
        name="constellation-azure",
        title="Constellation against AKS on Azure",
        description=(
            "Storage and network of two Kubernetes clusters on confidential VMs.\n\nBoth clusters"
            " run on the same machine type."
        ),
        targets=(_target("c11n", "Constellation", 0.24), _target("aks", "AKS", 0.20)),
        workloads=(
            WorkloadSpec(
                name="network",
                title="Network",
                tool="iperf3",
                parameters={"duration": "10 s", "omit": "1 s"},
            ),
            WorkloadSpec(
                name="storage",
                title="Storage",
                tool="fio",
                parameters={"size": "10 GiB", "runtime": "60 s", "direct": True},
            ),
            WorkloadSpec(name="vault", title="Vault", tool="service", parameters={"workers": 1300}),
        ),
        method=Method(seed=20230320, cooldown_s=5.0),
        compare=Comparison(baseline="aks", equivalence=0.02),
        report=ReportOptions(figures=("interval", "box", "series", "ecdf", "bar")),
        labels={"team": "performance"},
    )


def make_experiments() -> tuple[Experiment, ...]:
    tools = {"network": "iperf3", "storage": "fio", "vault": "service"}
    parameters = {each.name: each.parameters for each in make_spec().workloads}
    found: list[Experiment] = []
    for cell in (*CENTRES, "network[path=node-port]"):
        workload, _, rest = cell.partition("[")
        point = tuple(
            (axis, label) for axis, _, label in [rest.removesuffix("]").partition("=")] if axis
        )
        primary = (
            "throughput.write{job=write_bw}" if "write_bw" in cell else PRIMARY[tools[workload]]
        )
        for target in ("aks", "c11n"):
            digest = f"{len(found) + 1:02x}" * 32
            found.append(
                Experiment(
                    id=digest,
                    target=target,
                    workload=workload,
                    title=cell,
                    point=point,
                    tool=tools[workload],
                    parameters=parameters[workload],
                    primary=primary,
                    roles=(RolePlace(role=Role.CLIENT, site=target),),
                    gates={"min_duration": 9.0, "max_error_ratio": 0.001},
                )
            )
    return tuple(found)


def _measurements(
    experiment: Experiment, session: int, noise: random.Random
) -> Iterator[Measurement]:
    labels = JOB.get(dict(experiment.point).get("job", ""), {})
    units = {metric.name: metric.unit for metric in METRICS[experiment.tool]}
    for name, by_target in CENTRES[experiment.cell].items():
        centre, cov = by_target[experiment.target]
        value = centre * (1 + cov * noise.gauss(0, 1) + 0.3 * cov * ((session * 7) % 5 - 2))
        yield Measurement(metric=name, value=float(f"{value:.9g}"), unit=units[name], labels=labels)


def make_trials(
    experiments: tuple[Experiment, ...], skipped: Mapping[str, str], sessions: int = 10
) -> tuple[Trial, ...]:
    noise, trials = random.Random(20230320), list[Trial]()
    for session in range(1, sessions + 1):
        for experiment in experiments:
            if experiment.id in skipped or (experiment.cell == "vault" and session > 4):
                continue
            for index in range(4):
                trials.append(_trial(experiment, session, index, len(trials) + 1, noise))
    return tuple(trials)


def _trial(
    experiment: Experiment, session: int, index: int, sequence: int, noise: random.Random
) -> Trial:
    kind = TrialKind.WARMUP if index == 0 else TrialKind.MEASURED
    measurements = tuple(_measurements(experiment, session, noise))
    raw = (RawFile(path=f"raw/{sequence}/client.stdout", size=4096, sha256="00" * 32),)
    trial = Trial(
        sequence=sequence,
        experiment_id=experiment.id,
        session=session,
        kind=kind,
        index=index,
        job_id=f"job-{sequence}",
        status=TrialStatus.VALID,
        started_at=START + 15.0 * sequence,
        duration_s=10.2,
        exit_code=0,
        measurements=measurements,
        raw=raw,
        gates=(GateResult(name="min_duration", bound=9.0, observed=10.0, passed=True),),
        usage={"client": {"cpu.user": 0.2 if experiment.target == "aks" else 0.41}},
    )
    if (session, index, experiment.cell, experiment.target) == (
        3,
        2,
        "network[path=pod-to-pod]",
        "c11n",
    ):
        gate = GateResult(name="min_duration", bound=9.0, observed=2.5, passed=False)
        return replace(trial, status=TrialStatus.INVALID, gates=(gate,))
    if (session, index, experiment.cell, experiment.target) == (
        6,
        1,
        "storage[job=write_bw]",
        "aks",
    ):
        return replace(
            trial,
            status=TrialStatus.FAILED,
            measurements=(),
            exit_code=1,
            error="fio: no space left on device",
            error_kind="RunFailed",
        )
    return trial


def make_facts() -> tuple[FactSet, ...]:
    def facts(mtu: int, kernel: str, cpus: int) -> tuple[Fact, ...]:
        return (
            Fact(name="cpu.count", value=cpus, source="nproc"),
            Fact(name="cpu.model", value="AMD EPYC 7763 64-Core Processor", source="/proc/cpuinfo"),
            Fact(name="kernel.release", value=kernel, source="uname -r"),
            Fact(name="memory.total", value=16 * 2**30, source="/proc/meminfo", unit="B"),
            Fact(name="net.mtu", value=mtu, source="/sys/class/net/eth0/mtu"),
            Fact(name="cvm.technology", value=None, source="systemd-detect-virt --cvm"),
            Fact(name="tool.fio.version", value="3.33", source="fio --version"),
        )

    return (
        FactSet(
            target="aks",
            site="aks",
            when="before",
            observed_at=START,
            facts=facts(1500, "5.15.0-1034-azure", 4),
        ),
        FactSet(
            target="c11n",
            site="c11n",
            when="before",
            observed_at=START,
            facts=facts(1400, "6.1.18", 4),
        ),
        FactSet(
            target="c11n",
            site="c11n",
            when="after",
            observed_at=START + 9000,
            facts=facts(1400, "6.1.19", 4),
        ),
    )


def make_run() -> RunData:
    """Ten sessions of three trials; one cell skipped, one with four sessions, one trial invalid,
    one failed.
    """
    experiments = make_experiments()
    skipped = {
        e.id: "node ports are closed on this cluster" for e in experiments if "node-port" in e.cell
    }
    return RunData(
        run_id="constellation-azure-20230320-081320-a1b2c3",
        manifest={
            "run_id": "x",
            "benchspec": "0.1.0",
            "created_at": "2023-03-20T08:13:20Z",
            "spec_sha256": "ab" * 32,
            "python": "3.11.7",
            "overrides": [],
        },
        document={"apiVersion": "benchspec/v1", "kind": "Benchmark", "name": "constellation-azure"},
        spec=make_spec(),
        experiments=experiments,
        trials=make_trials(experiments, skipped),
        facts=make_facts(),
        claims=(
            ClaimCheck(
                target="aks",
                fact="cpu.count",
                declared=4,
                observed=4,
                state=ClaimState.MATCH,
                source="nproc",
            ),
            ClaimCheck(
                target="c11n",
                fact="net.mtu",
                declared=1500,
                observed=1400,
                state=ClaimState.MISMATCH,
                source="/sys/class/net/eth0/mtu",
            ),
            ClaimCheck(
                target="c11n",
                fact="cvm.technology",
                declared="sev-snp",
                observed=None,
                state=ClaimState.UNKNOWN,
            ),
        ),
        findings=(
            Finding(
                code="F101",
                level=FindingLevel.ERROR,
                message="net.mtu is 1400, the spec says 1500",
                target="c11n",
            ),
            Finding(
                code="F301",
                level=FindingLevel.WARNING,
                message="min_duration: observed 2.5, expected at least 9",
                sequence=100,
            ),
        ),
        skipped=skipped,
    )


def make_analysis(run: RunData) -> Analysis:
    return analyse(run, METRICS)
