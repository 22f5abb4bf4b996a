"""Settings of the command line as a client: which coordinator, and as whom.

They are read from the environment like those of :mod:`app.runtime.settings`.
"""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.runtime.settings import DataDir, PostgresUrl, Secret, default_data_dir


class ClientSettings(BaseSettings):
    """Where the coordinator is, for every command but those that start one."""

    model_config = SettingsConfigDict(
        env_prefix="FLEET_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    url: str | None = Field(
        default=None,
        description="the coordinator to talk to; the one in fleet.json if not given",
    )
    token: Secret = Field(
        default=None, description="the token to show; the right one of fleet.json if not given"
    )
    data_dir: DataDir = Field(
        default_factory=default_data_dir, description="folder of fleet.json, as `fleet up` wrote it"
    )
    database_url: PostgresUrl | None = Field(
        default=None,
        repr=False,
        description="the shared PostgreSQL on which `fleet token create` makes the first token",
    )
    listen_url: PostgresUrl | None = Field(
        default=None,
        repr=False,
        description="a connection to it that leads around its pooler, if it has one",
    )
