"""Settings of the service, from a file and the environment."""

import os
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

DEFAULT_PORT = 8080
ENVIRONMENT_PREFIX = "KIOSK_"


@dataclass(frozen=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    database_url: str = "sqlite:///kiosk.db"
    signing_key: str = ""
    debug: bool = False


class ConfigurationError(Exception):
    """A setting is missing or cannot be read."""


def load_settings(path: Path = Path("kiosk.toml")) -> Settings:
    """The settings of the file, with those of the environment over them."""
    from_file = tomllib.loads(path.read_text()) if path.exists() else {}
    return merge_settings(Settings(), from_file, read_environment())


def merge_settings(base: Settings, *layers: dict) -> Settings:
    """Later layers win; a name that no setting has is an error."""
    for layer in layers:
        unknown = layer.keys() - base.__dataclass_fields__.keys()
        if unknown:
            raise ConfigurationError(f"unknown settings: {', '.join(sorted(unknown))}")
        base = replace(base, **layer)
    return base


def read_environment() -> dict:
    names = (name for name in os.environ if name.startswith(ENVIRONMENT_PREFIX))
    return {name.removeprefix(ENVIRONMENT_PREFIX).lower(): os.environ[name] for name in names}
