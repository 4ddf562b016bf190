"""Test bed of SSH hosts on this machine: network namespaces with their own sshd, files, processes,
users and links.

``python -m tests.hosts up 4`` makes hosts for a person, ``with hosts.up(4) as bed`` for a test. See
docs/testbed-hosts.md.
"""

from .bed import Bed, down, load, names, up
from .host import Host, Login
from .parts import BedError, missing

__all__ = ["Bed", "BedError", "Host", "Login", "down", "load", "missing", "names", "up"]
