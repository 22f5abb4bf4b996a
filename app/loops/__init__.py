"""The loops of a serving process: a timer, a log line, a way to stop; each calls one use case."""
