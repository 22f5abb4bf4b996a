"""``make bench``: how fast it is, beside the floors that bound it, all taken in one run.

A *floor* is what the same machine does at the same moment with nothing of ours in the way: an empty
POST on the same server, the bare compare-and-swap by pgbench, COPY of the same rows. A *figure* is
what was measured, of a floor or of the service, and a *target* is a ratio of figures
(:mod:`tests.bench.targets`). Every figure of the service is taken from a process of its own, that
was started as ``python -m app serve`` on a database made for it.
"""
