"""The bodies of requests and replies, shared by the API and its Python client."""
