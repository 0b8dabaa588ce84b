"""What `make seed` prints at the end works as it is printed: part of `make check-api`.

Runs a small seed, and pastes every command that it prints. What is to be pasted is indented.
"""

import json
import os
import subprocess
import time
from pathlib import Path

from processes import BINARIES

# Few enough to take seconds. Three of the people whom alice follows have 18 followers, the others have fewer.
SIZE = {"SEED_USERS": "20", "SEED_TWEETS": "60"}
PARAMETERS = {"CELEBRITY_THRESHOLD": "18"}
PATIENCE = 120
SETTLE_SECONDS = 20


def seed(folder: Path) -> str:
    """What it says about the local cloud with this state."""
    environment = {**os.environ, **SIZE, "ROOST_STATE_DIR": str(folder)}
    ended = subprocess.run([str(BINARIES / "seed")], env=environment, capture_output=True, text=True, timeout=PATIENCE)
    if ended.returncode:
        raise SystemExit(f"the seed failed:\n{ended.stderr}")
    return ended.stdout


def commands(said: str) -> tuple[list[str], list[str]]:
    """What is to be pasted first, and what reads something."""
    lines = [line.strip() for line in said.splitlines() if line.startswith("  ")]
    reads = [line for line in lines if line.startswith(("get ", "page "))]
    return [line for line in lines if line not in reads], reads


def paste(first: list[str], command: str) -> str:
    """What it prints."""
    script = "\n".join(["set -euo pipefail", *first, command])
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE)
    if ended.returncode:
        raise SystemExit(f"{command} failed:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def words(page: str, column: int) -> set[str]:
    rows = page.splitlines()
    assert len(rows) == 10, page
    return {row.split()[column] for row in rows}


def follow(folder: Path) -> None:
    started = time.monotonic()
    said = seed(folder)
    first, reads = commands(said)
    assert len(reads) == 5, f"five commands read something:\n{said}"
    # The last tweet is there a moment after its 201.
    deadline = time.monotonic() + SETTLE_SECONDS
    while "pulled" not in words(paste(first, reads[0]), 0) and time.monotonic() < deadline:
        time.sleep(0.3)
    page, raw, celebrity, heavy, dormant = [paste(first, command) for command in reads]
    assert words(page, 0) == {"pushed", "pulled"}, page
    assert len(json.loads(raw)["data"]) == 1, raw
    assert json.loads(celebrity)["is_celebrity"], celebrity
    assert all(0 < float(score) < 1 for score in words(heavy, 1)), heavy
    assert "pushed" not in words(dormant, 0) and "rebuilt" in words(dormant, 0), dormant
    print(f"make seed: its {len(reads)} commands work, in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    from check_api import a_cloud

    with a_cloud(**PARAMETERS) as (folder, _):
        follow(folder)
