"""The Model Context Protocol server: agents ask why, and submit if they are allowed to."""
