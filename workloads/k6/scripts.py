"""The scripts that k6 runs: one that prints the summary as JSON, around the spec's own script or
one that sends a single kind of request.

What the spec says of a request lies beside the script as JSON, so that no text of it is ever code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ...engine.model.errors import SpecError
from ...engine.model.spec import Json
from ...engine.model.text.json_output import as_mapping, as_sequence
from ...engine.model.units import Dimension
from ..shared.go_duration import write_duration
from ..shared.quantities import flag, integer, quantity, seconds, text

MAIN = "k6-main.js"
SCRIPT = "k6-script.js"
LOAD = "k6-load.json"
URL = "BENCHSPEC_URL"
"""The variable (``__ENV``) that tells a script what to load."""
HEADER = "BENCHSPEC_HEADER_"

AROUND = b"""\
// Prints the summary of the script beside this as JSON, whatever the script itself makes of it.
import * as script from './k6-script.js';
export * from './k6-script.js';
export default script.default;
export function handleSummary(data) {
  return { stdout: JSON.stringify({ metrics: data.metrics, state: data.state }) + '\\n' };
}
"""
REQUESTS = b"""\
// One kind of request, as k6-load.json says.
import http from 'k6/http';
const load = JSON.parse(open('./k6-load.json'));
const headers = Object.fromEntries(load.headers);
load.secret_headers.forEach((name, number) => {
  headers[name] = __ENV[`BENCHSPEC_HEADER_${number + 1}`];
});
const params = { headers: headers, timeout: load.timeout, tags: { name: 'load' } };
export const options = load.options;
export default function () {
  http.request(load.method, __ENV.BENCHSPEC_URL, load.body, params);
}
"""


def files(parameters: Mapping[str, Json]) -> dict[str, bytes]:
    """The files that k6 reads, by name. Raises SpecError, UnitError."""
    own = text(parameters, "script")
    if own:
        return {MAIN: AROUND, SCRIPT: own.encode()}
    load = json.dumps(_load(parameters), sort_keys=True).encode()
    return {MAIN: AROUND, SCRIPT: REQUESTS, LOAD: load}


def _load(parameters: Mapping[str, Json]) -> dict[str, Json]:
    body = text(parameters, "payload")
    lines = (str(header).partition(":") for header in as_sequence(parameters.get("headers")))
    return {
        "method": text(parameters, "method", "POST" if body else "GET"),
        "body": body or None,
        "headers": [[name, value.strip()] for name, _, value in lines],
        "secret_headers": list(as_mapping(parameters.get("secret_headers"))),
        "timeout": f"{round(1e3 * seconds(parameters, 'timeout', '60 s'))}ms",
        "options": {
            "scenarios": {"load": _scenario(parameters)},
            "discardResponseBodies": True,
            "insecureSkipTLSVerify": flag(parameters, "insecure", False),
        },
    }


def _scenario(parameters: Mapping[str, Json]) -> dict[str, Json]:
    """Closed loop without a rate, else open loop with as many virtual users as that takes."""
    vus, rate = integer(parameters, "vus", 1), quantity(parameters, "rate", Dimension.RATE)
    length = write_duration(seconds(parameters, "duration", "10 s"))
    if rate is None:
        return {"executor": "constant-vus", "vus": vus, "duration": length}
    if not rate.is_integer() or rate < 1:
        raise SpecError(f"rate: found {rate:g} 1/s, expected a whole number of requests per second")
    return {
        "executor": "constant-arrival-rate",
        "rate": int(rate),
        "timeUnit": "1s",
        "duration": length,
        "preAllocatedVUs": vus,
        "maxVUs": max(vus, integer(parameters, "max_vus", vus)),
    }
