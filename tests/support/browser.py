"""A real browser: Chromium of the system, driven by Playwright, which downloads none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect, sync_playwright

from tests.support.page import PageServer, find_chromium
from tests.support.soak import SOAK
from tests.support.team_page import TeamPages

expect.set_options(timeout=20_000)
NO_BROWSER = "no Chromium is installed (Debian: apt-get install chromium)"


@contextmanager
def chromium() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        pytest.skip(NO_BROWSER)
    with sync_playwright() as playwright:
        # Root has no sandbox of Chromium's to be in; the pages are ours.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@dataclass
class Visit:
    """One logged-in tab, and everything that went wrong in it."""

    page: Page
    server: PageServer | TeamPages
    faults: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(self.server.origin + path)

    def text(self) -> str:
        return self.page.inner_text("main")


@contextmanager
def visit(browser: Browser, server: PageServer | TeamPages, **options: Any) -> Iterator[Visit]:
    context: BrowserContext = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
    context.set_default_timeout(300_000 if SOAK else 30_000)
    page = context.new_page()
    found = Visit(page, server)
    page.on("pageerror", lambda error: found.faults.append(f"error: {error}"))
    page.on("dialog", lambda dialog: _note_dialog(found, dialog))
    page.on("request", lambda request: _note_foreign(found, request.url))
    page.on("console", lambda message: _note_policy(found, message.text))
    server.enter(page)
    try:
        yield found
    finally:
        context.close()


def _note_dialog(found: Visit, dialog: Dialog) -> None:
    found.faults.append(f"dialog: {dialog.message}")
    dialog.dismiss()


def _note_foreign(found: Visit, url: str) -> None:
    if not url.startswith(found.server.origin):
        found.faults.append(f"request to {url}")
    if url.endswith("/csp-report"):
        found.faults.append("a report of a broken policy")


def _note_policy(found: Visit, message: str) -> None:
    if "Content Security Policy" in message or "Trusted" in message:
        found.faults.append(message)
