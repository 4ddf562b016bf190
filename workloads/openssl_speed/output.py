"""The output of ``openssl speed``: the tables of OpenSSL 1.1 and 3, and the machine-readable lines
of ``-mr``. Format: apps/speed.c.

``+F:ID:NAME:a:b:...`` are B/s per block size of ``+H:``, with two decimals. The others are
operations per second with six: ``+F2`` (RSA: signatures, checks and, since OpenSSL 3.2, encryptions
and decryptions), ``+F3`` (DSA), ``+F4`` (ECDSA), ``+F6`` (EdDSA), ``+F7`` (SM2), and ``+F5`` (ECDH)
and ``+F8`` (FFDH), which also have their reciprocal. Tables write ``k`` behind thousands of B/s,
and a bare figure for B/s below 10000 or, negative, for a failed measurement. ``+R`` lines on stderr
hold the time of each measurement.

A line has all its figures or it is cut: decimals say so where the line feed was lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...engine.model.errors import ParseError
from ...engine.model.text.strict_numbers import decimal

_HEADER = re.compile(r"^type((?:\s+\d{1,9} bytes)+)\s*$", re.ASCII)
_CELL = r"-?\d+\.\d\dk?"
_ROW = re.compile(
    rf"^(?P<name>[A-Za-z](?:(?! bits )[^:])*?)\s+(?P<figures>{_CELL}(?:\s+{_CELL})*)$", re.ASCII
)
_TIME = r"\d+\.\d+s"
_PER_S = r"\d+\.\d"
_OPERATIONS_ROW = re.compile(
    r"^\s*(?:(?P<kind>rsa|dsa)\s+(?P<bits>\d+) bits"
    r"|(?P<bits2>\d+) bits\s+(?P<kind2>ecdsa|ecdh|EdDSA|SM2) \((?P<curve>[^)]+)\)"
    r"|(?P<bits3>\d+) bits (?P<kind3>ffdh))"
    rf"(?P<times>(?:\s+{_TIME})+)(?P<rates>(?:\s+{_PER_S})+)\s*$",
    re.ASCII,
)
_MACHINE_ROW = re.compile(r"^\+F(?P<kind>\d{0,2}):(?P<fields>.*)$", re.ASCII)
_MACHINE_FIGURE = re.compile(r"-?\d+\.\d{6}", re.ASCII)
_MACHINE_RATE = re.compile(r"-?\d+\.\d{2}", re.ASCII)
_RESULT = re.compile(rf"^\+F|\s{_TIME}\s.*\d\.\d|\s-?\d+\.\d\dk\s", re.ASCII)
"""What only lines of results have."""

_SIGNATURE, _AGREEMENT = ("sign", "verify"), ("agree",)
_RSA = (*_SIGNATURE, "encrypt", "decrypt")
_TABLES = {
    "rsa": (_SIGNATURE, _RSA),
    "dsa": (_SIGNATURE,),
    "ecdsa": (_SIGNATURE,),
    "EdDSA": (_SIGNATURE,),
    "SM2": (_SIGNATURE,),
    "ecdh": (_AGREEMENT,),
    "ffdh": (_AGREEMENT,),
}
"""What the columns of a row may be, by its kind."""

_MACHINE = {
    "2": "rsa",
    "3": "dsa",
    "4": "ecdsa",
    "5": "ecdh",
    "6": "EdDSA",
    "7": "SM2",
    "8": "ffdh",
}
_ALONE = frozenset({("ecdh", "253"), ("ecdh", "448")})
"""X25519 and X448: no other curve has as many bits."""

_PRIMES = 6
"""Curves are numbered: the NIST prime curves come first, and others may have as many bits."""

_MAX_LINE = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Data processed with one algorithm in blocks of ``block`` B (None: the output does not say),
    in B/s.
    """

    algorithm: str
    block: int | None
    bytes_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """How many operations of each kind (``sign``, ``verify``, ``encrypt``, ``decrypt``, ``agree``)
    one algorithm and key size did, in 1/s.
    """

    algorithm: str
    rates: Mapping[str, float]


def rates(output: str) -> tuple[Rate, ...]:
    """Every data rate in ``output``; a figure that is no number or zero is left out, since nothing
    was measured then.

    Raises:
        ParseError: figures do not fit the block sizes.
    """
    return tuple(rate for rate in _rates(_lines(output)) if rate.bytes_per_s > 0)


def _lines(output: str) -> list[str]:
    return [line.rstrip() for line in output.splitlines() if len(line) <= _MAX_LINE]


def _rates(lines: Sequence[str]) -> Iterator[Rate]:
    blocks: list[int] = []
    for line in lines:
        if (sizes := _block_sizes(line)) is not None:
            blocks = sizes
        elif line.startswith("+F:"):
            _, _, name, *figures = [*line.split(":"), "", ""]
            yield from _pair(name, [figure for figure in figures if figure], blocks)
        elif blocks and (row := _ROW.match(line)) is not None:
            yield from _pair(row["name"], row["figures"].split(), blocks)


def _block_sizes(line: str) -> list[int] | None:
    """The block sizes of a header line: of a table, of ``-mr``, or of a child process of ``-multi``
    (``Got: +H:16:64 from 0``).
    """
    if (header := _HEADER.match(line)) is not None:
        return [int(number) for number in re.findall(r"\d+", header[1])]
    machine = re.fullmatch(r"(?:Got: )?\+H:(\d{1,9}(?::\d{1,9})*)(?: from \d+)?", line, re.ASCII)
    return None if machine is None else [int(number) for number in machine[1].split(":")]


def _pair(name: str, figures: Sequence[str], blocks: Sequence[int]) -> Iterator[Rate]:
    values = [_bytes_per_s(figure) for figure in figures]
    if blocks and len(blocks) != len(values):
        raise ParseError(
            f"found {len(values)} figures for {name}, expected {len(blocks)}, one per block size"
        )
    for number, value in enumerate(values):
        if value is not None:
            yield Rate(algorithm=name, block=blocks[number] if blocks else None, bytes_per_s=value)


def _bytes_per_s(figure: str) -> float | None:
    if not figure.endswith("k"):
        return decimal(figure)
    thousands = decimal(figure[:-1])
    return (
        None if thousands is None else float(round(thousands * 1000))
    )  # tables have two decimals: a whole number of B/s


def operations(output: str) -> tuple[Operations, ...]:
    """Every rate of operations in ``output``; those that are zero were not measured.

    Raises:
        ParseError: machine-readable lines that hold s per operation, as OpenSSL 1.0 writes them.
    """
    found = [
        one
        for line in _lines(output)
        if (one := _machine_operations(line) or _table_operations(line)) is not None
    ]
    return tuple(one for one in found if one.rates and min(one.rates.values()) > 0)


def _machine_operations(line: str) -> Operations | None:
    row = _MACHINE_ROW.match(line)
    if row is None or row["kind"] not in _MACHINE:
        return None
    kind, fields = _MACHINE[row["kind"]], row["fields"].split(":")
    if len(fields) < 3:
        return None
    name, rest = _machine_name(kind, fields[0], fields[1]), fields[2:]
    if kind in ("EdDSA", "SM2"):
        name, rest = rest[0].lower(), rest[1:]
    if kind in ("ecdh", "ffdh"):
        rest = rest[:1] if len(rest) == 2 else []  # the other is its reciprocal
    rates = _rates_of(kind, [decimal(figure) for figure in rest])
    if rates and max(rates.values()) < 1 and kind in ("rsa", "dsa", "ecdsa"):
        raise ParseError(
            f"the figures for {name} look like s per operation (OpenSSL 1.0), expected operations"
            " per second"
        )
    return Operations(algorithm=name, rates=rates) if rates else None


def _machine_name(kind: str, number: str, bits: str) -> str:
    """``rsa2048``, ``ecdsa256``; with the curve's number where it is no prime curve of NIST."""
    known = decimal(number)
    plain = kind not in ("ecdsa", "ecdh") or known is None or known < _PRIMES
    return f"{kind}{bits}" if plain or (kind, bits) in _ALONE else f"{kind}{bits}-curve{number}"


def _rates_of(kind: str, figures: Sequence[float | None]) -> dict[str, float]:
    """The figures by what they count; nothing where they are not as many as the kind has."""
    names = next((names for names in _TABLES[kind] if len(names) == len(figures)), ())
    pairs = zip(names, figures, strict=False)
    found = {name: value for name, value in pairs if value is not None}
    return found if len(found) == len(names) else {}


def _table_operations(line: str) -> Operations | None:
    row = _OPERATIONS_ROW.match(line)
    if row is None:
        return None
    kind = row["kind"] or row["kind2"] or row["kind3"]
    figures, seconds = row["rates"].split(), row["times"].split()
    rates = _rates_of(kind, [decimal(figure) for figure in figures])
    if not rates or len(figures) != len(seconds):
        return None
    return Operations(algorithm=_name(row), rates=rates)


def _name(row: re.Match[str]) -> str:
    """The name that ``-mr`` would give: ``rsa2048``, ``ecdsa256`` and ``ecdh256`` for the NIST
    prime curves, the curve's own name for any other.
    """
    if row["kind"]:
        return f"{row['kind']}{row['bits']}"
    if row["kind3"]:
        return f"{row['kind3']}{row['bits3']}"
    if row["kind2"] in ("ecdsa", "ecdh"):
        if row["curve"].startswith("nistp"):
            return f"{row['kind2']}{row['bits2']}"
        if row["kind2"] == "ecdh":
            alone = ("ecdh", row["bits2"]) in _ALONE
            return f"ecdh{row['bits2']}" if alone else f"ecdh-{row['curve']}".lower()
    return row["curve"].lower()


def _is_read(line: str) -> bool:
    """Whether figures come from the line, or a line of failed ones."""
    if line.startswith("+F:"):
        return True
    try:
        one = _machine_operations(line) or _table_operations(line)
    except ParseError:
        return True
    return one is not None or _ROW.match(line) is not None


def unread(output: str) -> tuple[str, ...]:
    """Lines of results of kinds that are not known here."""
    return tuple(line for line in _lines(output) if _RESULT.search(line) and not _is_read(line))


def unfinished(output: str) -> str | None:
    """Why the last line is not whole. It ends with a line feed; where that was lost, its figures
    have all their decimals, and an RSA line of ``-mr`` those of encryption, too.
    """
    if output.endswith("\n") or not output:
        return None
    last = output.splitlines()[-1].rstrip()
    row = _MACHINE_ROW.match(last)
    if row is None:
        rates = _ROW.match(last) is not None and last.endswith("k")
        read = rates or _table_operations(last) is not None
        return None if read else f"its last line is {last[:80]!r}"
    pattern = _MACHINE_FIGURE if row["kind"] else _MACHINE_RATE
    whole = pattern.fullmatch(last.rpartition(":")[2]) is not None and _is_read(last)
    if row["kind"] == "2":
        whole = whole and last.count(":") == 6
    return None if whole else f"its last line is {last[:80]!r}, without its last figures"


def times(diagnostics: str) -> tuple[float, ...]:
    """The s each measurement took: ``+R:COUNT:NAME:1.000000`` and ``Doing ... in 0.99s`` lines of
    stderr.
    """
    found = []
    for line in _lines(diagnostics):
        if line.startswith("+R") and ":" in line:
            found.append(decimal(line.rpartition(":")[2]))
        elif (
            line.startswith("Doing ")
            and (said := re.search(r" in ([\d.]{1,20})s$", line)) is not None
        ):
            found.append(decimal(said[1]))
    return tuple(time for time in found if time is not None and time > 0)
