"""Use cases, one file per verb: read, decide by the pure core, write, all in one transaction."""
