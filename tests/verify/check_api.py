"""docs/openapi.yaml against a running system: `make check-api`. Run by the Python of Schemathesis' environment.

Starts a local cloud of its own, lets Schemathesis ask it whatever the document allows and forbids, and lets a client that
was generated from the document sign up, post and read. Others are for what docs/CLIENTS.md tells clients to do (guide.py)
and for what `make seed` tells newcomers to do (first_run.py). Everything that it starts ends with it.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import first_run
import guide
from processes import BINARIES, Process, answers

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
DOCUMENT = ROOT / "docs" / "openapi.yaml"
TOOLS = Path(sys.executable).parent
# What a run takes at most, in seconds, on a machine that is busy.
PATIENCE = 1800

PORTS = ("HTTP_PORT", "DYNAMODB_PORT", "KINESIS_PORT", "REDIS_PORT", "LAMBDA_PORT", "WEBSOCKET_PORT")
# One caller makes more requests here than one person may.
UNLIMITED = {"READS_PER_MINUTE": "600000", "WRITES_PER_MINUTE": "600000"}


@contextmanager
def a_cloud(**parameters: str) -> Iterator[tuple[Path, str]]:
    """A local cloud on free ports: its folder, and the address of its API."""
    with tempfile.TemporaryDirectory(prefix="roost-api-") as folder:
        cloud, url = start_cloud(Path(folder), parameters)
        try:
            yield Path(folder), url
        finally:
            cloud.stop()


def start_cloud(folder: Path, parameters: dict[str, str]) -> tuple[Process, str]:
    state = {"ROOST_STATE_DIR": str(folder), "ROOST_STOP_WITH_PARENT": "1", "NO_COLOR": "1"}
    parameters = {"CACHE_WATCH_SECONDS": "0", **parameters}
    environment = {**os.environ, **parameters, **dict.fromkeys(PORTS, "0"), **state}
    command = [str(BINARIES / "roost-local")]
    cloud = Process("the local cloud", command, environment, folder / "log")
    endpoints = folder / "endpoints.json"
    try:
        cloud.wait_until(lambda: answers(address(endpoints) + "/healthz"))
    except SystemExit:
        cloud.stop()
        raise
    return cloud, address(endpoints)


def address(endpoints: Path) -> str:
    try:
        url = json.loads(endpoints.read_text())["http"]
    except ValueError as error:
        raise OSError("still being written") from error
    return (url if "://" in url else f"http://{url}").rstrip("/")


def check_pages(url: str) -> None:
    """The document and the page are served, to everybody and without a network."""
    with urllib.request.urlopen(f"{url}/openapi.yaml", timeout=10) as answer:
        assert answer.read() == DOCUMENT.read_bytes(), "/openapi.yaml is not docs/openapi.yaml: build the local cloud"
    with urllib.request.urlopen(f"{url}/docs", timeout=10) as answer:
        page = answer.read().decode()
    assert "/openapi.yaml" in page and "//" not in page.replace("//localhost", ""), f"/docs needs the network: {page}"
    assert answers(f"{url}/docs/swagger-ui-bundle.js"), "the script of /docs is missing"


def run(folder: Path, name: str, *arguments: str, **environment: str) -> None:
    """Runs a tool where it may leave whatever it likes to leave behind."""
    path = f"{TOOLS}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, **environment}
    ended = subprocess.run([str(TOOLS / name), *arguments], cwd=folder, env=environment, timeout=PATIENCE)
    if ended.returncode:
        raise SystemExit(f"{name}: docs/openapi.yaml and the running system say different things")


def check_document() -> None:
    with a_cloud(**UNLIMITED) as (folder, url):
        check_pages(url)
        client = folder / "client"
        generate = ("generate", "--path", str(DOCUMENT), "--output-path", str(client), "--fail-on-warning")
        run(folder, "openapi-python-client", *generate)
        run(folder, "python", str(HERE / "api_client.py"), ROOST_URL=url, PYTHONPATH=str(client))
        check = ("--config-file", str(HERE / "schemathesis.toml"), "run", f"{url}/openapi.yaml", "--url", url)
        hooks = {"SCHEMATHESIS_HOOKS": "api_hooks", "PYTHONPATH": str(HERE)}
        run(folder, "schemathesis", *check, ROOST_URL=url, **hooks)


def main() -> None:
    os.chdir(ROOT)
    # The quick ones first.
    with a_cloud() as (_, url):
        guide.follow(url)
    with a_cloud(**first_run.PARAMETERS) as (folder, _):
        first_run.follow(folder)
    check_document()


if __name__ == "__main__":
    main()
