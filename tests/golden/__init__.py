"""Golden files: what the program prints and writes, held byte for byte. ``python -m tests.golden
--write`` makes them anew.

Everything is observed from outside, as a user sees it: the command line in a process of its own,
and the files it writes. What differs from run to run is replaced by name, from the one list in
:mod:`tests.golden.replacements`.
"""
