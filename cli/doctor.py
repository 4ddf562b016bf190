"""``benchspec doctor``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .app import VERBS
from .options import SPEC_FILE, host_keys_option, json_option, overrides_option
from .output.documents import print_json
from .output.progress import choose_observer

INSTALL = "Install what is missing with the host's package manager, after saying which."
TRUSTED = "Ask the spec's own programs for their versions too, which executes them."


@click.command("doctor", short_help=VERBS["doctor"])
@click.argument("spec", type=SPEC_FILE, required=False)
@overrides_option
@click.option("--install-tools", is_flag=True, help=INSTALL)
@click.option("--yes", "-y", "trusted", is_flag=True, help=TRUSTED)
@host_keys_option
@json_option()
def command(spec: Path | None, as_json: bool, **chosen: Any) -> int:
    """Check the hosts of SPEC, or this one for the quickstart: reachability, keys, rights, tools
    and versions, disk, clocks, locks, noise.

    A host that cannot be used does not hide the others. Exit code 4 if something the spec needs is
    missing or cannot be used.
    """
    from ..api.examination import doctor
    from .output.examination import examination_to_json, print_examination

    with choose_observer(json_lines=False, quiet=True) as observer:
        found = doctor(spec, observer=observer, **chosen)
    if as_json:
        print_json(examination_to_json(found))
    else:
        print_examination(found)
    return 0 if found.is_ready else 4
