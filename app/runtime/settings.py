"""Settings: everything that may differ between two installations, read once from the environment.

Each field is an environment variable, ``FLEET_`` and the name in capitals. What the scheduler
weighs is deliberately not among them: weights are part of the program.
"""

import os
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]

_SCHEMES = ("postgresql://", "postgres://", "postgresql+asyncpg://")


def _postgres_url(url: str) -> str:
    """Accept the spellings people use and return the one that drivers and psql know.

    Raises:
        ValueError: if it is not a PostgreSQL URL; the URL is not repeated, as it holds a password.
    """
    for scheme in _SCHEMES:
        if url.startswith(scheme):
            return "postgresql://" + url.removeprefix(scheme)
    message = "must start with postgresql://"
    raise ValueError(message)


PostgresUrl: TypeAlias = Annotated[str, AfterValidator(_postgres_url)]


def _set(secret: object) -> object:
    text = secret.get_secret_value() if isinstance(secret, SecretStr) else secret
    if not isinstance(text, str):
        return secret
    return text.rstrip("\r\n") if text.strip() else None


Secret: TypeAlias = Annotated[SecretStr | None, BeforeValidator(_set)]
"""A secret, or None; an empty one, which everybody knows, is none.

A line break at its end is dropped: files that secrets are mounted as often have one.
"""


DataDir: TypeAlias = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]
"""A folder; nothing but a shell expands ``~``, and what starts services is none."""


def default_data_dir() -> Path:
    """Choose where state lives: ``/var/lib/fleet`` for root, else the user's own data folder.

    Root's home is not used on purpose: PostgreSQL refuses to run as root, so its files must lie
    where another user can reach them, and a home should not be opened for that.
    """
    if os.geteuid() == 0:
        return Path("/var/lib/fleet")
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "fleet"


class Settings(BaseSettings):
    """The settings of one process; frozen, so that nothing changes them halfway."""

    model_config = SettingsConfigDict(
        env_prefix="FLEET_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    database_url: PostgresUrl | None = Field(
        default=None,
        repr=False,
        description="PostgreSQL to use, as postgresql://…; embedded PostgreSQL if not given",
    )
    listen_url: PostgresUrl | None = Field(
        default=None,
        repr=False,
        description="a direct connection, for LISTEN, migrations and first tokens, needed beside a "
        "transaction pooler; the same as the database URL if not given",
    )
    data_dir: DataDir = Field(
        default_factory=default_data_dir,
        description="folder of embedded PostgreSQL and of fleet.json",
    )
    host: str = Field(default="127.0.0.1", description="address to serve on")
    port: int = Field(default=8420, ge=0, le=65535, description="port to serve on; 0 takes any")
    database_pool_size: int = Field(
        default=10,
        ge=3,
        le=1000,
        description="most database connections of one process, beside one to listen on and one for "
        "the lock of a tick",
    )
    database_pool_timeout_s: float = Field(
        default=5.0,
        gt=0,
        le=60,
        description="longest wait for a free connection; after that a request is answered 503",
    )
    database_statement_timeout_s: float = Field(
        default=30.0, gt=0, le=3600, description="longest run of one statement"
    )
    database_statement_cache: int = Field(
        default=256,
        ge=0,
        le=10_000,
        description="prepared statements kept per connection; 0 beside a transaction pooler, where "
        "nothing may be kept",
    )
    ticker: bool = Field(
        default=True, description="let `fleet up` run the ticks itself; `serve` leaves them to cron"
    )
    tick_interval_s: float = Field(
        default=60.0, gt=0, le=86_400, description="pause between two ticks of the own ticker"
    )
    max_concurrent_agents: int = Field(
        default=3, ge=1, le=10_000, description="most workflows with an agent at work at a time"
    )
    lease_loop_interval_s: float = Field(
        default=1.0, gt=0, le=3600, description="pause between two searches for ended leases"
    )
    retention_days: int = Field(
        default=30,
        ge=1,
        le=3650,
        description="how long is kept what is finished: jobs with their events and decisions (but "
        "not the dead letter), runs of repos, reports of ticks",
    )
    github_webhook_secret: Secret = Field(
        default=None,
        description="secret that signs GitHub's webhooks; without it they are refused",
    )
    github_token: Secret = Field(
        default=None,
        description="token to read GitHub with; without it or an app nothing is read there",
    )
    github_api_url: str = Field(
        default="https://api.github.com",
        pattern=r"^https?://[^/?#]+[^?#]*$",
        description="where GitHub's REST API is; for GitHub Enterprise https://HOST/api/v3",
    )
    github_issue_label: str = Field(
        default="fleet",
        min_length=1,
        max_length=50,
        description="label of issues that are for us; a label score:NUMBER says how much one "
        "matters",
    )
    github_app_id: str | None = Field(
        default=None, description="id of the GitHub App to read with, instead of a token"
    )
    github_app_private_key: Secret = Field(
        default=None, description="private key of that app, in PEM"
    )
    github_app_installation_id: str | None = Field(
        default=None, description="installation of that app to read as"
    )
    log_level: LogLevel = Field(default="info", description="least level that is logged")
    log_json: bool = Field(default=False, description="log JSON lines instead of plain ones")

    @model_validator(mode="after")
    def _an_app_is_whole(self) -> Self:
        parts = (self.github_app_id, self.github_app_private_key, self.github_app_installation_id)
        if any(parts) and not all(parts):
            message = (
                "a GitHub App needs FLEET_GITHUB_APP_ID, FLEET_GITHUB_APP_PRIVATE_KEY and "
                "FLEET_GITHUB_APP_INSTALLATION_ID"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _a_way_around_the_pooler(self) -> Self:
        if self.database_url and not self.listen_url and not self.database_statement_cache:
            message = (
                "FLEET_DATABASE_STATEMENT_CACHE=0 means a transaction pooler: "
                "set FLEET_LISTEN_URL to a connection that leads around it"
            )
            raise ValueError(message)
        return self

    @property
    def direct_url(self) -> str | None:
        """The URL that reaches PostgreSQL without a pooler; None means embedded."""
        return self.listen_url or self.database_url


def environment_variable(field: str) -> str:
    """Name the environment variable of a field of :class:`Settings`."""
    return "FLEET_" + field.upper()
