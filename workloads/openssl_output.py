"""The output of ``openssl speed``: the tables of OpenSSL 1.1 and 3, and the machine-readable lines of ``-mr``. Format: apps/speed.c.

``+F:ID:NAME:a:b:...`` are B/s per block size of ``+H:``; ``+F2`` (RSA), ``+F3`` (DSA), ``+F4`` (ECDSA) and ``+F6`` (EdDSA) operations
per second. Tables write ``k`` behind thousands of B/s, and a bare figure for B/s below 10000 or, negative, for a failed measurement. ``+R`` lines
on stderr hold the time of each measurement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..engine.errors import ParseError
from .numerals import decimal

_HEADER = re.compile(r"^type((?:\s+\d{1,9} bytes)+)\s*$", re.ASCII)
_ROW = re.compile(r"^(?P<name>[A-Za-z](?:(?! bits )[^:])*?)\s+(?P<figures>-?[\d.]+k?(?:\s+-?[\d.]+k?)*)$", re.ASCII)
_SIGNATURE_ROW = re.compile(
    r"^\s*(?:(?P<kind>rsa|dsa)\s+(?P<bits>\d+) bits|(?P<bits2>\d+) bits (?P<kind2>ecdsa|EdDSA|SM2) \((?P<curve>[^)]+)\))"
    r"\s+[\d.]+s\s+[\d.]+s\s+(?P<sign>[\d.]+)\s+(?P<verify>[\d.]+)\s*$",
    re.ASCII,
)
_MACHINE_KINDS = {"+F2": "rsa", "+F3": "dsa", "+F4": "ecdsa"}
_MAX_LINE = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Data processed with one algorithm in blocks of ``block`` B (None: the output does not say), in B/s."""

    algorithm: str
    block: int | None
    bytes_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """Signatures made and checked per second with one algorithm and key size."""

    algorithm: str
    sign: float
    verify: float


def rates(output: str) -> tuple[Rate, ...]:
    """Every data rate in ``output``; a figure that is no number or zero is left out, since nothing was measured then.

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
            yield from _pair(name, figures, blocks)
        elif blocks and (row := _ROW.match(line)) is not None:
            yield from _pair(row["name"], row["figures"].split(), blocks)


def _block_sizes(line: str) -> list[int] | None:
    """The block sizes of a header line: of a table, of ``-mr``, or of a child process of ``-multi`` (``Got: +H:16:64 from 0``)."""
    if (header := _HEADER.match(line)) is not None:
        return [int(number) for number in re.findall(r"\d+", header[1])]
    machine = re.fullmatch(r"(?:Got: )?\+H:(\d{1,9}(?::\d{1,9})*)(?: from \d+)?", line, re.ASCII)
    return None if machine is None else [int(number) for number in machine[1].split(":")]


def _pair(name: str, figures: Sequence[str], blocks: Sequence[int]) -> Iterator[Rate]:
    values = [_bytes_per_s(figure) for figure in figures if figure]
    if blocks and len(blocks) != len(values):
        raise ParseError(f"found {len(values)} figures for {name}, expected {len(blocks)}, one per block size")
    for number, value in enumerate(values):
        if value is not None:
            yield Rate(algorithm=name, block=blocks[number] if blocks else None, bytes_per_s=value)


def _bytes_per_s(figure: str) -> float | None:
    if not figure.endswith("k"):
        return decimal(figure)
    thousands = decimal(figure[:-1])
    return None if thousands is None else float(round(thousands * 1000))  # tables have two decimals: a whole number of B/s


def signings(output: str) -> tuple[Signing, ...]:
    """Every signature rate in ``output``.

    Raises:
        ParseError: machine-readable lines that hold s per operation, as OpenSSL 1.0 writes them.
    """
    found = [signing for line in _lines(output) if (signing := _machine_signing(line) or _table_signing(line)) is not None]
    return tuple(signing for signing in found if signing.sign > 0 and signing.verify > 0)


def _machine_signing(line: str) -> Signing | None:
    fields = line.split(":")
    if fields[0] in _MACHINE_KINDS and len(fields) == 5:
        name, sign, verify = f"{_MACHINE_KINDS[fields[0]]}{fields[2]}", decimal(fields[3]), decimal(fields[4])
    elif fields[0] == "+F6" and len(fields) == 6:
        name, sign, verify = fields[3].lower(), decimal(fields[4]), decimal(fields[5])
    else:
        return None
    if sign is None or verify is None:
        return None
    if sign < 1 and verify < 1:
        raise ParseError(f"the figures for {name} look like s per operation (OpenSSL 1.0), expected operations per second")
    return Signing(algorithm=name, sign=sign, verify=verify)


def _table_signing(line: str) -> Signing | None:
    row = _SIGNATURE_ROW.match(line)
    if row is None:
        return None
    sign, verify = decimal(row["sign"]), decimal(row["verify"])
    if sign is None or verify is None:
        return None
    return Signing(algorithm=_name(row), sign=sign, verify=verify)


def _name(row: re.Match[str]) -> str:
    """The name that ``-mr`` would give: ``rsa2048``, ``ecdsa256`` for the NIST prime curves, the curve's own name for any other."""
    if row["kind"]:
        return f"{row['kind']}{row['bits']}"
    prime = row["kind2"] == "ecdsa" and row["curve"].startswith("nistp")
    return f"ecdsa{row['bits2']}" if prime else row["curve"].lower()


def times(diagnostics: str) -> tuple[float, ...]:
    """The s each measurement took: ``+R:COUNT:NAME:1.000000`` and ``Doing ... in 0.99s`` lines of stderr."""
    found = []
    for line in _lines(diagnostics):
        if line.startswith("+R") and ":" in line:
            found.append(decimal(line.rpartition(":")[2]))
        elif line.startswith("Doing ") and (said := re.search(r" in ([\d.]{1,20})s$", line)) is not None:
            found.append(decimal(said[1]))
    return tuple(time for time in found if time is not None and time > 0)
