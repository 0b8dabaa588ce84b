"""Runs what docs/CLIENTS.md tells clients to do, in the order of the guide, against a local cloud: part of `make check-api`.

A block of shell or JavaScript is run. A block of JSON or text right after it is what it must print. Shell blocks are one
session: what one of them sets, the next one finds, and JavaScript finds it in its environment. JavaScript without output
defines something, and goes before all JavaScript that follows.

In what is printed, texts of six characters and more with a digit in them may differ from the guide: ids, times, tags. All
else must be the same. A problem may be printed only where the guide shows one. A block that only reads is run again for a
while if it prints something else: a tweet reaches a timeline a moment after its 201.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

GUIDE = Path(__file__).parent.parent.parent / "docs" / "CLIENTS.md"
# What one block may take, and how long one that reads is run again, in seconds.
BLOCK_SECONDS = 30
SETTLE_SECONDS = 20

FENCED = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
WRITES = re.compile(r"-X |-d |POST|PUT|PATCH|DELETE")
MAY_DIFFER = re.compile(r"\S*\d\S*")


@dataclass
class Block:
    line: int
    language: str
    text: str
    expected: "Block | None" = None

    @property
    def only_reads(self) -> bool:
        return not WRITES.search(self.text)


def blocks_of(guide: str) -> list[Block]:
    """What is to be run, each with what it is to print."""
    blocks, end = [], 0
    for found in FENCED.finditer(guide):
        block = Block(guide.count("\n", 0, found.start()) + 1, found[1], found[2])
        follows_code = blocks and not guide[end : found.start()].strip()
        if block.language in ("sh", "js"):
            blocks.append(block)
            end = found.end()
        elif follows_code and not blocks[-1].expected:
            blocks[-1].expected = block
    return blocks


class Session:
    """What the blocks so far have left to the next one."""

    def __init__(self, folder: Path, environment: dict[str, str]):
        self.folder, self.environment = folder, environment
        self.definitions = ""

    def run(self, block: Block) -> tuple[bool, str]:
        """Whether it went well, and what it printed."""
        command = self.shell(block.text) if block.language == "sh" else self.javascript(block.text)
        try:
            ended = subprocess.run(
                command,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=BLOCK_SECONDS,
            )
        except subprocess.TimeoutExpired as late:
            return False, f"{(late.stdout or b'').decode()}\nit has not ended after {BLOCK_SECONDS} s"
        return ended.returncode == 0, ended.stdout.decode()

    def shell(self, text: str) -> list[str]:
        # With -a, variables and functions are exported, and the environment at the end has them all.
        return ["bash", "-aeuo", "pipefail", "-c", f"{text}\nenv -0 > environment"]

    def javascript(self, text: str) -> list[str]:
        (self.folder / "block.mjs").write_text(self.definitions + text)
        return ["node", "--no-warnings", "--experimental-websocket", "block.mjs"]

    def keep(self, block: Block) -> None:
        if block.language == "sh":
            entries = (self.folder / "environment").read_bytes().decode().split("\0")
            self.environment = dict(entry.split("=", 1) for entry in entries if "=" in entry)
        elif not block.expected:
            self.definitions += block.text


def same(expected, printed) -> bool:
    if isinstance(expected, dict) and isinstance(printed, dict):
        return expected.keys() == printed.keys() and all(same(expected[key], printed[key]) for key in expected)
    if isinstance(expected, list) and isinstance(printed, list):
        return len(expected) == len(printed) and all(map(same, expected, printed))
    if isinstance(expected, str) and isinstance(printed, str):
        return fixed(expected) == fixed(printed)
    return type(expected) is type(printed) and expected == printed


def fixed(text: str) -> str:
    """The text without what may differ."""
    return MAY_DIFFER.sub(lambda found: "#" if len(found[0]) >= 6 else found[0], text.strip())


def complaint(block: Block, went_well: bool, printed: str) -> str | None:
    if not went_well:
        return "it failed"
    if not block.expected:
        return "it printed a problem" if "urn:roost:problem" in printed else None
    expected = block.expected.text
    if block.expected.language == "json":
        try:
            return None if same(json.loads(expected), json.loads(printed)) else "it printed something else"
        except ValueError:
            return "it did not print JSON"
    return None if fixed(expected) == fixed(printed) else "it printed something else"


def run(block: Block, session: Session) -> None:
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        went_well, printed = session.run(block)
        wrong = complaint(block, went_well, printed)
        if not wrong:
            return session.keep(block)
        if not (block.only_reads and block.expected and time.monotonic() < deadline):
            should = f"\ninstead of\n{block.expected.text}" if block.expected else ""
            raise SystemExit(f"docs/CLIENTS.md, line {block.line}: {wrong}:\n{printed}{should}")
        time.sleep(0.3)


def follow(url: str) -> None:
    """Does what the guide says with the system at this address."""
    if not shutil.which("node"):
        raise SystemExit("the examples of docs/CLIENTS.md need Node.js: please install version 20 or newer")
    started = time.monotonic()
    # The guide names the address of `make run`.
    blocks = blocks_of(GUIDE.read_text().replace("http://localhost:9000", url))
    with tempfile.TemporaryDirectory(prefix="roost-guide-") as folder:
        session = Session(Path(folder), dict(os.environ))
        for block in blocks:
            run(block, session)
    compared = sum(1 for block in blocks if block.expected)
    took = time.monotonic() - started
    print(f"docs/CLIENTS.md: {len(blocks)} examples work, {compared} print what it says, in {took:.0f} s")


def main() -> None:
    """With the address of a system that runs, or with one of its own."""
    if len(sys.argv) > 1:
        return follow(sys.argv[1])
    from check_api import a_cloud

    with a_cloud() as (_, url):
        follow(url)


if __name__ == "__main__":
    main()
