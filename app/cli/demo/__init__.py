"""The demo: two real factories do real work on clones of a real repository."""
