"""Every page looked at by axe-core, in light and dark, wide and narrow: exits 1 on a serious violation.

    python tests/conformance/axe.py [--shots FOLDER]

Needs npm and Chromium; axe-core stays under .conformance. With --shots each page is also drawn into a folder, at 360,
1280 and 3840 pixels.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from codecairn.team.embedded import embedded_url, stop_embedded
from tests.page.conftest import shop_in
from tests.support.page import PageServer, find_chromium, page_server
from tests.support.team import open_team
from tests.support.team_page import TeamPages, shop_pages

WORK = Path(__file__).resolve().parents[2] / ".conformance"
Pages = PageServer | TeamPages
SERIOUS = ("serious", "critical")
PAGES = {
    "home": "/", "search": "/?q=how+is+the+price+lowered", "why": "/why?q=discount&at=shop/cart.py&line=4",
    "symbol": "/symbol?name=discount&path=shop/cart.py", "calls": "/symbol?name=discount&path=shop/cart.py&tab=graph",
    "history": "/symbol?name=discount&path=shop/cart.py&tab=history",
    "tests": "/symbol?name=discount&path=shop/cart.py&tab=tests", "file": "/file?path=shop/cart.py",
    "branch": "/branch?base=main&head=sale", "memory": "/memory", "edit": "/memory/new", "rules": "/rules",
    "server": "/server", "confirm": "/server/confirm?verb=prune", "error": "/file?path=shop/crat.py", "login": "/login",
}  # fmt: skip

TEAM_PAGES = {
    "team-home": "/", "team-search": "/?q=discount", "team-server": "/server", "team-none": "/r/org/shopp/-/",
    **{
        f"team-{name}": f"/r/org/shop/-{path}"
        for name, path in {
            "repository": "/", "results": "/?q=discount", "symbol": "/symbol?name=discount",
            "calls": "/symbol?name=discount&tab=graph", "file": "/file?path=shop/cart.py", "changes": "/branch",
            "branch": "/branch?base=main&head=sale", "memory": "/memory", "edit": "/memory/new", "rules": "/rules",
            "state": "/server",
        }.items()
    },
}  # fmt: skip


def axe_source() -> str:
    package = WORK / "node_modules" / "axe-core" / "axe.min.js"
    if not package.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise SystemExit("npm is needed for axe-core")
        WORK.mkdir(exist_ok=True)
        subprocess.run([npm, "install", "--silent", "--prefix", str(WORK), "axe-core"], check=True)
    return package.read_text(encoding="utf-8")


def examine(browser: Browser, server: Pages, axe: str, scheme: str, width: int, pages: dict[str, str]) -> list[str]:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light", bypass_csp=True
    )
    page = context.new_page()
    server.enter(page)
    found = list[str]()
    for name, path in pages.items():
        page.goto(server.origin + path)
        page.evaluate(axe)
        for each in page.evaluate("axe.run().then(found => found.violations)"):
            where = ", ".join(" ".join(node["target"]) for node in each["nodes"][:3])
            said = f"{each['impact']:<9} {name} {width} {scheme}: {each['id']}, {each['help']} ({where})"
            print(said)
            found += [said] if each["impact"] in SERIOUS else []
    context.close()
    return found


def look_at(browser: Browser, server: Pages, axe: str, pages: dict[str, str], shots: Path | None) -> list[str]:
    looks = [("light", 1280), ("dark", 1280), ("light", 360), ("dark", 360)]
    serious = [each for look in looks for each in examine(browser, server, axe, *look, pages)]
    if shots:
        draw(browser, server, shots, pages)
    return serious


@contextmanager
def team_of_shops(folder: Path) -> Iterator[TeamPages]:
    url = embedded_url(folder / "postgres")
    try:
        with open_team(url, folder / "team") as team:
            yield shop_pages(team)
    finally:
        stop_embedded(folder / "postgres")


def draw(browser: Browser, server: Pages, folder: Path, pages: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for width in (360, 1280, 3840):
        for dark in (False, True):
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
            )
            page = context.new_page()
            server.enter(page)
            for name, path in pages.items():
                page.goto(server.origin + path)
                page.screenshot(path=folder / f"{name}-{width}-{'dark' if dark else 'light'}.png")
            context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shots", type=Path)
    asked = parser.parse_args()
    chromium, axe = find_chromium(), axe_source()
    if chromium is None:
        raise SystemExit("no Chromium is installed (Debian: apt-get install chromium)")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        with page_server(shop_in(folder / "shop").path, folder / "home") as server:
            server.call("index_codebase")
            server.call("remember", type="decision", content="Discounts are never negative.", symbol="discount")
            serious = look_at(browser, server, axe, PAGES, asked.shots)
        with team_of_shops(folder) as team:
            serious += look_at(browser, team, axe, TEAM_PAGES, asked.shots)
        browser.close()
    print(f"{len(PAGES) + len(TEAM_PAGES)} pages, {len(serious)} serious violations")
    sys.exit(1 if serious else 0)


if __name__ == "__main__":
    main()
