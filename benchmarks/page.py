"""The page: how soon a browser paints, and what a page weighs.

    python benchmarks/page.py ROOT [--symbol NAME] [--times 15]

Starts `cairn serve --http` for an indexed project and asks it for pages in Chromium (of the system) over loopback, with
an empty browser cache. Of a search it tells the first contentful paint beyond what the search itself took, as the page
says it; of a symbol with at least 500 references the time until the first paint of a page that lists 500 of them, with
what find_references took in it. Weights are bytes of HTML, style sheet and script together, and of the HTML without the
code that it shows. On a machine that others share the least of the runs is the one to read. Needs Chromium.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Page, sync_playwright

CAIRN = str(Path(sys.executable).with_name("cairn"))
QUERIES = (
    "how are querysets filtered", "slugify", "where is the session cookie set", "parse a date from a string",
    "middleware that checks the csrf token", "template loader", "migration autodetector", "password hashing",
)  # fmt: skip
_PAINT = "performance.getEntriesByType('paint').find(each => each.name === 'first-contentful-paint')?.startTime"


@contextmanager
def serve(root: Path) -> Iterator[str]:
    """The address that logs in, of a server for the project."""
    with tempfile.TemporaryFile("w+") as log:
        command = [CAIRN, "serve", "--http", "127.0.0.1:0", "--root", str(root), "--log-level", "warning"]
        process = subprocess.Popen(command, stderr=log)
        try:
            for _ in range(600):
                log.seek(0)
                if "the page is" in log.read():
                    break
                time.sleep(0.1)
            asked = [CAIRN, "open", "--print", "--root", str(root)]
            yield subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        finally:
            process.terminate()
            process.wait(20)


def paint(page: Page, address: str) -> float:
    page.goto(address, wait_until="load")
    found = None
    for _ in range(500):
        found = page.evaluate(_PAINT)
        if found is not None:
            break
        page.wait_for_timeout(10)
    assert found is not None, address
    return float(found)


def spread(values: list[float]) -> str:
    ordered = sorted(values)
    p95 = ordered[int(0.95 * (len(ordered) - 1))]
    return f"least {ordered[0]:.0f} ms, p50 {statistics.median(ordered):.0f} ms, p95 {p95:.0f} ms"


def searches(page: Page, origin: str, times: int) -> None:
    beyond, weight = list[float](), ""
    for number in range(times):
        query = QUERIES[number % len(QUERIES)]
        total = paint(page, f"{origin}/?q={quote(query)}&mode={'' if number < len(QUERIES) else 'keyword'}")
        said = re.search(r"in ([\d.,]+) ms", page.inner_text(".summary"))
        assert said, page.inner_text(".summary")
        beyond.append(total - float(said[1].replace(",", "")))
        weight = max(weight, weigh(page))
    print(f"search, first paint beyond the search itself   {spread(beyond)}   (at most 100)")
    print(f"search, page without code                      {weight}   (at most 100)")


def weigh(page: Page) -> str:
    """Bytes of the page without the code it shows, and of its style sheet and script, which browsers keep."""
    html = page.request.get(page.url).text()
    code = "".join(re.findall(r"<code>.*?</code>", html, re.DOTALL))
    files = sum(len(page.request.get(page.url.partition("/")[0] + f"//{page.url.split('/')[2]}{each}").body())
                for each in re.findall(r'(?:href|src)="(/static/page[^"]+)"', html))  # fmt: skip
    return f"{(len(html.encode()) - len(code.encode())) / 1000:.0f} KB and {files / 1000:.0f} KB of files"


def references(page: Page, origin: str, symbol: str, times: int) -> None:
    paints, answers = list[float](), list[float]()
    for _ in range(times):
        paints.append(paint(page, f"{origin}/symbol?name={quote(symbol)}"))
        answers.append(page.evaluate("performance.getEntriesByType('navigation')[0].responseEnd"))
    rows = page.locator(".uses tr").count()
    print(f"references of {symbol}, {rows} lines, first paint  {spread(paints)}   (at most 300)")
    print(f"references of {symbol}, {rows} lines, whole answer {spread(answers)}")
    print(f"references, page without code                  {weigh(page)}   (at most 100)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--symbol", default="ValidationError", help="one with at least 500 references")
    parser.add_argument("--times", type=int, default=16)
    asked = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("no Chromium is installed (Debian: apt-get install chromium)")
    with serve(asked.root.resolve()) as login, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(login)
        origin = login.partition("/login")[0]
        for path in ("/?q=warm", f"/symbol?name={quote(asked.symbol)}"):
            page.goto(origin + path)
        floor = [paint(page, f"{origin}/memory/new") for _ in range(asked.times)]
        print(f"a page with a form alone, first paint          {spread(floor)}")
        searches(page, origin, asked.times)
        references(page, origin, asked.symbol, asked.times)
        browser.close()


if __name__ == "__main__":
    main()
