"""`make deploy` for the first time, by somebody who answers every question with Enter.

`sam deploy --guided` talks to a terminal, so it gets one. Run by itself (`make check-template`), this needs no build and no
account: whatever SAM asks AWS ends at a listener on this machine that refuses it. By then all questions are answered.
"""

import os
import pty
import re
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Longer than SAM ever thinks between two lines, but not for ever.
SILENCE_SECONDS = 120


class Stuck(Exception):
    """A question that Enter does not answer."""


def press_enter(command: list[str], environment: dict[str, str], directory: Path) -> tuple[int, str]:
    """Runs a command in a terminal and answers each of its questions with Enter. Gives its status and what it said."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(directory)
        os.execvpe(command[0], command, environment)
    said, answered = "", 0
    questions: list[str] = []
    try:
        while True:
            if not select.select([terminal], [], [], SILENCE_SECONDS)[0]:
                raise Stuck(f"nothing was said for {SILENCE_SECONDS} s")
            try:
                chunk = os.read(terminal, 65536)
            except OSError:
                # The other end is closed.
                break
            if not chunk:
                break
            said += COLOURS.sub("", chunk.decode(errors="replace"))
            question = said[answered:].replace("\r", "").rsplit("\n", 1)[-1]
            # A question ends its line without a line break: `Parameter LogLevel [INFO]: `.
            if question.endswith(": ") and not select.select([terminal], [], [], 0.05)[0]:
                question = question.strip()
                if question in questions:
                    raise Stuck(f"Enter is no answer to: {question}")
                questions.append(question)
                answered = len(said)
                os.write(terminal, b"\n")
    except Stuck:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.close(terminal)
        _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), said


class Refusal:
    """Refuses every request and notes what was asked."""

    def __init__(self):
        asked = self.asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0))).decode(errors="replace")
                asked.append(re.sub(r".*Action=(\w+).*", r"\1", body))
                answer = b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>no account</Message></Error></ErrorResponse>"
                self.send_response(403)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_PUT = do_HEAD = do_POST

            def log_message(self, *_):
                """Requests are noted above."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def main() -> None:
    started = time.monotonic()
    aws = Refusal()
    environment = {
        **os.environ,
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nobody",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": aws.url,
        "AWS_MAX_ATTEMPTS": "1",
        "SAM_CLI_TELEMETRY": "0",
        "TERM": "dumb",
        "COLUMNS": "200",
    }
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "samconfig.toml"
        shutil.copy(ROOT / "samconfig.toml", answers)
        sam = [str(Path(sys.executable).with_name("sam")), "deploy", "--guided"]
        command = [*sam, "--config-file", str(answers), "--template-file", str(ROOT / "template.yaml")]
        try:
            _, said = press_enter(command, environment, ROOT)
        except Stuck as problem:
            sys.exit(f"a first deployment cannot be answered with Enter: {problem}")
    if not aws.asked:
        sys.exit(f"a first deployment with default answers never got as far as AWS:\n{said}")
    took = time.monotonic() - started
    print(f"{said.count(']: ')} questions were answered with Enter, and AWS was asked for {aws.asked[0]} ({took:.0f} s)")


if __name__ == "__main__":
    main()
