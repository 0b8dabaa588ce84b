"""The page of local/web in a browser: `make check-page`, and a step of `make verify`.

Starts a local cloud of its own, seeds it, and lets Chromium do what people do (page/*.test.mjs, run by Node's test runner):
sign in, post, read 300 tweets, like, lose the network, and so on, wide and narrow, by mouse and by keyboard alone. An
accessibility checker (axe) looks at every view. Screenshots of all views, and what a failed test saw, are in `.verify/page/`.

With names as arguments, only those files are run: `python3 tests/verify/check_page.py home`.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import first_run
from check_api import ROOT, UNLIMITED, a_cloud

HERE = Path(__file__).parent / "page"
RESULTS = ROOT / ".verify" / "page"
WEB = Path(os.environ.get("ROOST_WEB_DIR") or ROOT / "local" / "web").resolve()
BROWSERS = ("chromium", "google-chrome", "google-chrome-stable")
# Few people make a celebrity, and a page of a fan-out is small enough to be handed over, as with `make run`. The seed fits.
PARAMETERS = {"CELEBRITY_THRESHOLD": "18", "FAN_OUT_PAGE_SIZE": "10", "SYNC_FAN_OUT_FOLLOWERS": "5", **UNLIMITED}
# What all tests together take at most, in seconds, on a machine that is busy.
PATIENCE = 900


def browser() -> str:
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        raise SystemExit("the test of the page needs Chromium: please install it, or name another browser with CHROMIUM=…")
    return found


def tests(names: list[str]) -> list[str]:
    files = sorted(path.name for path in HERE.glob("*.test.mjs"))
    chosen = [file for file in files if not names or file.removesuffix(".test.mjs") in names]
    if not chosen:
        raise SystemExit(f"there is no such test, but these: {' '.join(file.removesuffix('.test.mjs') for file in files)}")
    return chosen


def run(url: str, names: list[str]) -> bool:
    """Whether all tests passed."""
    # One after the other: a browser is enough for two cores. The reporter prints the last line, too.
    command = ["node", "--test", "--test-concurrency=1", "--test-reporter=./reporter.mjs", *tests(names)]
    chosen = {"ROOST_URL": url, "ROOST_WEB_DIR": str(WEB), "ROOST_RESULTS": str(RESULTS), "CHROMIUM": browser()}
    return subprocess.run(command, cwd=HERE, env={**os.environ, **chosen}, timeout=PATIENCE).returncode == 0


def main() -> None:
    os.chdir(ROOT)
    if not (WEB / "index.html").exists():
        raise SystemExit(f"there is no page in {WEB}")
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    browser()
    started = time.monotonic()
    os.environ["ROOST_WEB_DIR"] = str(WEB)
    with a_cloud(**PARAMETERS) as (folder, url):
        first_run.seed(folder)
        print(f"  a local cloud with a seed is there after {time.monotonic() - started:.0f} s", flush=True)
        passed = run(url, sys.argv[1:])
        if not passed:
            shutil.copy(folder / "log", RESULTS / "cloud.log")
    print(f"the page in a browser: {time.monotonic() - started:.0f} s", flush=True)
    if not passed:
        raise SystemExit(f"the page does not do what it should; screenshots and consoles are in {RESULTS.relative_to(ROOT)}/")


if __name__ == "__main__":
    main()
