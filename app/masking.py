"""Secrets in texts that machines write: whatever has a known shape is masked.

Agents print what went wrong, and with it now and then the token they worked with. A text is masked
before it is stored or logged, so that nobody who may read an error can read a secret in it. The
prefix stays (``ghp_***``): it says which secret must be revoked.

What this cannot do: a secret of no known shape (a password in a sentence, ``PASSWORD=…``), one that
was encoded, wrapped over two lines or cut in half before it came here, is not recognised. It is a
net below careful programs, not a replacement for them.
"""

import re
from typing import Final

_WORD: Final = r"[A-Za-z0-9_-]"
_OPAQUE: Final = r"[A-Za-z0-9._~+/=-]"

# Every repetition that can fail after it consumed something is bounded, so that no text, however
# it was made, takes more than linear time. Quotes end what may hold almost anything: a line of JSON
# stays one.
_SHAPES: Final = re.compile(
    rf"""
    (?P<ours>fleet_){_WORD}{{20,}}
  | (?<![A-Za-z0-9])(?P<prefix>
        gh[pousr]_(?=[A-Za-z0-9]{{20}})    # GitHub
      | github_pat_(?={_WORD}{{20}})
      | glpat-(?={_WORD}{{16}})            # GitLab
      | sk-(?={_WORD}{{16}})               # OpenAI, Anthropic and others
      | [rs]k_(?:live|test)_(?=[A-Za-z0-9]{{16}})
      | xox[a-z]-(?={_WORD}{{10}})         # Slack
      | A[KS]IA(?=[A-Z0-9]{{16}})          # AWS
      | AIza(?={_WORD}{{30}})              # Google
      | npm_(?=[A-Za-z0-9]{{30}})
      | hf_(?=[A-Za-z0-9]{{30}})           # Hugging Face
      | pypi-(?={_WORD}{{40}})
    ){_WORD}+
  | (?<![A-Za-z0-9])(?P<jwt>eyJ){_WORD}{{8,512}}\.{_WORD}{{8,8192}}\.{_WORD}{{8,}}
  | (?P<scheme>\b(?i:bearer)[ \t]{{1,8}})(?!fleet_{_WORD}{{20}})
        (?: (?={_OPAQUE}{{0,256}}[0-9]){_OPAQUE}{{8,}} | {_OPAQUE}{{20,}} )  # and no plain word
  | (?P<header>
        \b(?i:authorization)["']?[ \t]{{0,8}}[:=][ \t]{{0,8}}["']?(?i:basic|token)[ \t]{{1,8}}
    ){_OPAQUE}{{4,}}
  | (?P<user>(?<=://)[^\s:/@"']{{0,256}}:)[^\s/"']{{1,1024}}(?P<at>@)
  | (?P<key>-----BEGIN\ [A-Z\ ]{{0,32}}PRIVATE\ KEY-----)
        (?!\*\*\*)[^"]*?(?P<end>-----END\ [A-Z\ ]{{0,40}}-----|(?=")|\Z)
    """,
    re.VERBOSE,
)

_MARKS: Final = (
    *("fleet_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-"),
    *("k_live_", "k_test_", "xox", "AKIA", "ASIA", "AIza", "npm_", "hf_", "pypi-", "eyJ"),
    *("earer", "EARER", "uthorization", "UTHORIZATION", "://", "PRIVATE KEY"),
)
"""One of these is in every secret of a known shape: texts without any are done in a microsecond."""

_MASK: Final = "***"


def mask(text: str) -> str:
    """Mask what looks like a token, a password in an address, or a private key."""
    for mark in _MARKS:
        if mark in text:
            return _SHAPES.sub(_masked, text)
    return text


def _masked(found: re.Match[str]) -> str:
    said = found.groupdict(default="")
    before = "".join(said[name] for name in ("ours", "prefix", "jwt", "scheme", "header", "user"))
    return f"{before}{said['key']}{_MASK}{said['at']}{said['end']}"
