"""Every code a diagnostic can have: its severity, its title, and what it means and what to do.

BS0xx: the file and its YAML. BS1xx: the schema. BS2xx: what the sections say about each other.
BS3xx: secrets and facts. A code is never given a second meaning.
"""

# ruff: noqa: E501 - one code, one line

from __future__ import annotations

from dataclasses import dataclass

from ...model.diagnostics import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One code. A warning or note can be silenced on its line with ``# benchspec: ignore=CODE``; an
    error cannot.
    """

    code: str
    severity: Severity
    title: str
    explanation: str


_TABLE = """
BS001 error | the file cannot be read | The path is wrong, is a folder, or may not be read.
BS002 error | the file is too large | A spec is at most 1 MiB.
BS003 error | the file is not UTF-8 | Save the file as UTF-8. A byte order mark of UTF-8 is accepted, UTF-16 is not.
BS005 error | the document is empty | A spec starts with apiVersion, kind, name and title.
BS006 error | several documents in one file | Put each spec into a file of its own; only one document is read.
BS007 error | the document is no mapping | A spec is a mapping whose first keys are apiVersion and kind.
BS008 error | the file is not YAML | The parser stopped here; the cause is on this line or just above. A text that contains ': ' or starts with @, %, & or * needs quotes, and inside { } and [ ] a reference such as "${var:x}" does too.
BS009 error | a tab in the indentation | YAML indents with spaces only.
BS010 error | a key stands twice in one mapping | YAML readers silently take the last one. Both lines are named; remove one.
BS011 error | yes, no, on, off, True and the like | YAML 1.1 takes them for booleans, YAML 1.2 for texts. Write true or false, or quote the text.
BS012 error | a number that readers of YAML read differently | 0755 is octal to some, 1:30 is 90 to some, 1_000 a text to some. Write a plain decimal number, or quote the text.
BS013 error | a tag | Tags such as !!python/object make readers build objects. A spec is plain data.
BS014 error | a key that is no text | Numbers, booleans, null, lists and mappings cannot be keys. Quote the key.
BS015 error | a merge key | << is not part of YAML 1.2 and hides where a value comes from. Write the keys out, alias a whole mapping, or use vars.
BS016 error | an anchor that contains itself | Such a value would have no end.
BS017 error | the document grows too large | More than 20,000 values, or aliases and variables that expand beyond 2 MiB.
BS018 error | the document is nested too deep | At most 64 levels, also through aliases.
BS019 error | a number that is not finite | .inf, .nan and numbers beyond 1e308 cannot be measured with. Leave the key out where there is no number.
BS099 error | more problems than are shown | Only the first ones are listed. Correct these and check again.
BS101 error | an unknown key | Keys are checked everywhere; only those that start with x- are free. The nearest known key is named.
BS102 error | a key is missing | Reported at the mapping that lacks it.
BS103 error | a value of the wrong type | For example a number where a text belongs: version: 1.20 is the number 1.2, so versions need quotes.
BS104 error | a value that is none of those allowed | The allowed values are listed, with the nearest one.
BS105 error | a text of the wrong form | For example a name with capital letters.
BS106 error | a value out of range | Too small, too large, too many, or an item twice.
BS108 error | another version of the spec language | apiVersion must be benchspec/v1. A spec of an earlier version is brought up to date by `benchspec migrate`.
BS109 error | a combination that the schema forbids | Some keys exclude others; the schema of the tool or runner says which.
BS110 error | not a quantity of the right dimension | A number and a unit: 60 s, 400 GiB, 10 Gbit/s, 500 1/s, 2 %. Bits and bytes, MB and MiB are different units and never converted silently.
BS111 error | an unknown tool | No tool of that name is part of benchspec or of an installed plug-in.
BS112 error | an unknown kind of runner | No runner of that kind is part of benchspec or of an installed plug-in.
BS113 error | not exactly one of runner and sites | A target has its roles either on one runner or on named sites.
BS114 error | --set names a path that does not exist | The path must lead to something the spec has or the language knows.
BS115 error | --set cannot be read | It is PATH=VALUE, with the value in YAML: method.sessions=3 or targets.aks.limits[0].sustained=500 1/s.
BS201 error | the baseline names no target | compare.baseline must be a key of targets, or a list of such keys.
BS202 error | nothing to compare with | compare needs at least two targets.
BS203 error | a workload runs on an unknown target | Every name in a workload's targets must be a key of targets.
BS204 error | overrides for an unknown target | Every key of a workload's overrides must be a key of targets.
BS205 warning | overrides that are never used | The workload does not run on that target, because its targets leave it out.
BS206 error | a role is on an unknown site | Every value in a target's sites must be a key of sites.
BS207 warning | a site that nobody uses | No target has a role on this site.
BS208 error | a role without a site | A workload that runs on the target needs this role, and neither the target's sites nor the hosts of its runner say where it is.
BS209 error | an unknown variable | ${var:NAME} must name a key of vars.
BS210 warning | a variable that nobody uses | Remove it, or use it as ${var:NAME}.
BS211 error | a reference of the wrong form | There are ${var:NAME}, ${secret:KIND:NAME} and ${output:STEP.NAME}; $${ is a literal ${.
BS212 error | a secret of an unknown kind | Secrets are in the environment (env), in a file or in Kubernetes: ${secret:env:NAME}, ${secret:file:PATH}, ${secret:kubernetes:NAMESPACE/NAME/KEY}.
BS213 error | an output that no step captures | ${output:STEP.NAME} must name a step of the target and a name it captures.
BS214 error | an output of a later step | A step can use only what steps before it have captured.
BS215 error | a secret where it would be published | Titles, names, labels, claims and the report are printed. A secret may stand in with, in a lifecycle and in a runner's options.
BS216 warning | must_match names an unknown fact | Nothing of that name is claimed or known to be observed, so it can never differ.
BS217 warning | a target that nothing runs on | Every workload's targets leave it out.
BS218 error | two baselines of one environment | Every target is held against one baseline: that of its environment. Name one of them, or say under `environment` which targets belong together.
BS219 error | a cluster without an image | Pods need an image with the tools, and none is published that could be the default. `benchspec images build` makes it, `benchspec images push` pushes it to a registry that the nodes can pull from and writes its digest into the spec.
BS220 error | not exactly one action | A step has exactly one of run, script, manifest, chart and wait; wait and every capture have exactly one way.
BS221 error | two steps of one name | Outputs and the journal name steps, so a target's steps need different names.
BS222 error | a file outside the spec's folder | Scripts, manifests and values lie beside the spec, or they would not travel with it.
BS223 error | a step on an unknown site | The site must be one of those the target's roles are on.
BS224 error | a file that is not there | The script, manifest or values file of a step does not exist beside the spec.
BS225 warning | something is installed and never removed | A lifecycle with a bootstrap that changes something needs a destroy.
BS226 error | a step on one of several hosts | Say where the step runs: on: controller, a role, a list of roles, or hosts for every host of the target.
BS227 error | a pattern or path that cannot be used | The regular expression or JSONPath is malformed, or outside the subset that cannot take long: benchspec runs patterns of strangers.
BS229 note | an image that stands for another one | Names that end in .example belong to nobody (RFC 2606): the spec is planned, and `run` refuses it. `benchspec images build` and `push` make an image and write its name into the spec.
BS230 warning | the machine type is not one of the provider's | For example an m5.2xlarge (AWS) claimed at another provider.
BS231 warning | a CVM technology that this machine cannot have | For example TDX on a machine with AMD processors.
BS232 warning | the CVM claim contradicts the machine type | For example cvm: true on a machine type that is never confidential.
BS233 error | CNI encryption without a CNI | cni.encryption says who encrypts only when cni.name says what the CNI is.
BS234 note | a network policy engine that nothing brings | Neither the CNI nor a component is called so; policies would silently not be enforced.
BS235 warning | an impossible MTU | An encapsulated packet needs 50 bytes more (vxlan, geneve; wireguard 60 to 80), so the inner MTU cannot be the link's.
BS236 error | a storage class without Kubernetes | class, provisioner, binding, create, mode and ephemeral need a kubernetes runner; use storage.path elsewhere.
BS237 note | a Windows target | It needs the ssh runner with shell: powershell, and fewer facts can be observed.
BS238 warning | no node has this role | The node groups name their roles, and none has the one a workload needs.
BS239 warning | an unknown provider | It is close to a known one.
BS240 error | a CPU that the nodes do not have | CPU numbers start at 0 and end below the largest cores of the topology.
BS241 warning | roles share a CPU | Client and server on one CPU measure the scheduler. Give them CPUs of their own.
BS242 warning | two claims about one fact | facts repeats what a section says; only one of them counts.
BS250 error | not a calendar date | as_of must be a day that exists.
BS251 warning | a date in the future | as_of is the day on which a source was read; or this clock is behind.
BS252 error | an unknown class of limits | Limits are of storage, network or cpu metrics.
BS253 error | a limit in the wrong unit | storage.throughput is in bytes per second, network.throughput in bits per second, iops and packets in 1/s.
BS254 error | burst below sustained | What can be had for a short time cannot be less than what can be kept up.
BS255 warning | two limits for the same thing | The same metric, layer, applies_to and where has two limits.
BS256 warning | a limit at points that do not exist | limits[].where names an axis of a workload that runs on the target, and one of its values.
BS260 error | an axis that is no parameter | A scalar axis sets the tool's parameter of its name, path or placement; no such parameter exists.
BS261 warning | an axis that hides a parameter | The parameter is also set in with, where it has no effect.
BS262 warning | an exclude that matches nothing | No point of the matrix has these values.
BS263 error | every point is excluded | Nothing is left to run.
BS264 error | zipped axes of different lengths | Axes under zip advance together and need equally many values.
BS265 error | an axis in both matrix and zip | An axis is either combined with the others or advances with them.
BS266 error | axis values that cannot be told apart | A mapping needs a name, and the names of an axis must differ.
BS267 error | exclude names an unknown axis | Every key of an entry must be an axis of the matrix or of zip.
BS268 error | a path that needs Kubernetes | Paths through pods and services do not exist on local and ssh runners.
BS269 error | placement that cannot be had | across-nodes needs two nodes, same-node one site, across-sites two.
BS270 warning | warm-up as long as the measurement | The time that is thrown away is not shorter than the time that counts.
BS271 error | a gate no trial can pass | min_duration is longer than the tool measures.
BS272 error | an unknown primary metric | The tool reports no metric of that name.
BS273 error | files larger than the volume | The tool's files do not fit on storage.size.
BS274 warning | a path for a tool without traffic | A tool with one role sends nothing between nodes.
BS275 error | loopback across nodes | Loopback traffic never leaves a node.
BS276 warning | an image that can change | Pin images by digest (name@sha256:...), or results cannot be repeated.
BS277 error | more experiments than can run | A spec may have at most 100,000 experiments before exclusion; shorten an axis.
BS278 error | an override that changes an axis | The value of an axis is in the name of its points, so it must be the same on every target. Exclude points instead.
BS280 warning | smoke mode with a comparison | A smoke run never carries a verdict.
BS281 warning | a duet on one place | Both targets run at the same time on the same machine and disturb each other; give them different CPUs or sites.
BS282 warning | too few sessions for a verdict | The interval needs at least 5 sessions to say much.
BS283 error | an equivalence margin that means nothing | The margin must lie between 0 and 50 %.
BS284 warning | an equivalence margin that cannot be reached | The wished half-width is not below the margin, so no interval would fit inside.
BS285 error | a duet needs two targets | order: duet runs exactly two targets side by side.
BS286 error | fewer sessions at most than at least | method.precision.max_sessions is below method.sessions.
BS287 error | an output folder outside the working folder | report.docs is relative and has no '..'.
BS288 error | a template outside the spec's folder | report.template lies beside the spec, or it would not travel with it.
BS289 error | more than data in a job file | A job file says how to read and write. Options that start programs, load libraries, read other files or write logs are refused, and so are $, quotes and the like in values, which fio hands to a shell. Paths outside of the work directory are a parameter, not part of the text.
BS290 error | a sweep along no rising axis | sweep.axis names an axis of the workload's matrix, whose values are at least two numbers in rising order.
BS291 error | a gain that means nothing | sweep.gain is what a further point must add to count as more; it lies between 0 and 100 %.
BS292 warning | a host baseline beside no virtual path | baseline: host measures host-to-host beside paths through pods, services and the like; this workload has none.
BS293 error | a file that may be overwritten | Tools measure in folders of their own, which are removed. A file or device that is there already is written only if destroys names it: its contents are lost, and whoever runs the spec is asked.
BS294 note | a target with the settings of its baseline | Only their names differ, so the comparison is an A/A run: what it shows is the noise of the method, and nothing is called better or worse.
BS301 error | a secret written out | The text has the form of a known kind of token or key. Use a reference such as ${secret:env:NAME}, and revoke what was published.
BS302 warning | what looks like a secret written out | The key says password, token or the like. Use a reference such as ${secret:env:NAME}.
BS303 error | a secret where it is not put in | A reference to a secret is replaced only where its value is seen by the program alone: in a step's env or wait, and in the parameters of a tool that take one (the env of command, the token of vault-benchmark), there as the whole value.
BS310 warning | an unknown fact | No fact of that name is observed, so the claim could never be checked.
"""


def _read(table: str) -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for line in table.strip().splitlines():
        head, title, explanation = line.split(" | ", 2)
        code, severity = head.split()
        rules[code] = Rule(
            code=code, severity=Severity(severity), title=title, explanation=explanation
        )
    return rules


RULES: dict[str, Rule] = _read(_TABLE)
"""Every rule by its code, in order."""
