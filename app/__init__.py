"""The fleet coordinator: one queue, one lease, one explanation for a fleet of coding agents."""
