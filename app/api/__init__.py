"""HTTP in, a use case, HTTP out."""
