"""What verification starts, and what it takes to end it again."""

import os
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

# Where the local cloud and the seed are. The local cloud reads the same variable, and finds its functions there.
BINARIES = Path(os.environ.get("ROOST_BIN_DIR") or Path(__file__).parents[2] / "target" / "debug")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Process:
    """A child with its own group, so that what it starts ends with it. Its output goes to a log."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str], log: Path):
        self.name, self.log = name, log
        with log.open("wb") as output:
            self.child = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_until(self, ready, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.child.poll() is not None:
                raise SystemExit(f"{self.name} ended by itself; its log is {self.log}")
            try:
                if ready():
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise SystemExit(f"{self.name} is not ready after {seconds:.0f} s; its log is {self.log}")

    def stop(self) -> None:
        for sign, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 5)):
            try:
                os.killpg(self.child.pid, sign)
            except ProcessLookupError:
                return
            try:
                self.child.wait(patience)
            except subprocess.TimeoutExpired:
                continue


def answers(url: str) -> bool:
    with urllib.request.urlopen(url, timeout=2) as answer:
        return answer.status == 200


def ping_redis(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
        connection.sendall(b"PING\r\n")
        # NOAUTH is an answer, too.
        return connection.recv(64)[:1] in (b"+", b"-")
