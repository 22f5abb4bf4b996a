"""Identity and chance: the one place that makes ids, secrets and random numbers."""

import hashlib
import random
import secrets
from typing import Final
from uuid import UUID

import uuid_utils.compat

TOKEN_PREFIX: Final = "fleet_"  # noqa: S105 - public: it marks tokens, it opens nothing
"""Every token starts so: a leaked one is recognised by scanners, and by our own logs."""

_TOKEN_BYTES: Final = 32
_SYSTEM = random.SystemRandom()


def new_id() -> UUID:
    """Make a UUIDv7: sorted by the time it was made, to the millisecond and beyond."""
    return uuid_utils.compat.uuid7()


def new_token() -> str:
    """Make a bearer token: the prefix and 256 random bits as 43 URL-safe characters."""
    return TOKEN_PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)


def token_hash(token: str) -> bytes:
    """Hash a token for storage and look-up; 32 bytes.

    A plain SHA-256 is enough here, since a token is 256 bits of chance and not a password: there
    is nothing to guess that salt or slowness would protect.
    """
    return hashlib.sha256(token.encode()).digest()


def chance() -> float:
    """Draw a number, 0 <= x < 1, for jitter."""
    return _SYSTEM.random()
