"""Starts the service."""

from kiosk.config import load_settings
from kiosk.http.router import Router


def main() -> None:
    settings = load_settings()
    router = Router()
    router.serve(settings.host, settings.port)


if __name__ == "__main__":
    main()
