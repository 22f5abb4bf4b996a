"""Starting a coordinator: what ``fleet up``, ``fleet serve`` and their like do.

Imported only when one of them runs, since a server and a database take a second to load and most
commands need neither.
"""
