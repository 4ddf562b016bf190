"""How hosts were entered: by a key that somebody vouches for, or on faith; silently, or past what
they print.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model.results import FactSet, Finding, FindingLevel

NOBODY = "nobody (--accept-new-host-keys)"
"""The fact ``ssh.trust`` of a host whose key was taken on faith."""


def entry_findings(facts: FactSet) -> Iterator[Finding]:
    """F626 for a host key that was taken on faith, F627 for a host that prints before it does what
    it is asked.
    """
    host = f"{facts.site} {facts.node}" if facts.node else facts.site
    if facts.value("ssh.trust") == NOBODY:
        message = (
            f"the host key of {host} was taken on faith: {facts.value('ssh.host_key')}; hold it"
            " against the host's own"
        )
        yield Finding(code="F626", level=FindingLevel.WARNING, message=message, target=facts.target)
    greeting = facts.value("ssh.greeting")
    if greeting is not None:
        message = f"{host} prints before it does what it is asked, which is skipped: {greeting}"
        yield Finding(code="F627", level=FindingLevel.NOTE, message=message, target=facts.target)
