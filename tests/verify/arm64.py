"""`make verify-arm64`: every function is built for arm64 as a deployment runs it, and answers its event.

The processor is emulated (qemu), so what runs is the very machine code, only slower. The compiler is Debian's, because rustup
may have no arm64 target where this runs; the profile is the one that is deployed. In this order:

1. build     every function, with the release profile
2. libraries what each of them needs of the system, against what Lambda's Amazon Linux 2023 has
3. answers   the local cloud starts the arm64 binaries; they answer their events, and a timeline is read
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = "aarch64-unknown-linux-gnu"
BUILT = ROOT / "target" / "arm64"
RUNNERS = BUILT / "runners"
# Debian's own, whatever else is in the path.
CARGO, RUSTC = "/usr/bin/cargo", "/usr/bin/rustc"
CROSS = "aarch64-linux-gnu-"
# The system that the binaries find under the emulator: Debian's libraries for cross compiling.
SYSTEM = "/usr/aarch64-linux-gnu"
# The C library of the runtime `provided.al2023`.
GLIBC = (2, 34)
# Instead of the suite, which would take hours: what each function says to its event, and the way of a tweet to its readers.
TESTS = ("events::", "timeline::a_follower_sees_a_tweet")
# An emulated processor is about ten times slower.
PATIENCE = "10"


def build(functions: list[str]) -> None:
    environment = {
        **os.environ,
        "RUSTC": RUSTC,
        f"CARGO_TARGET_{TARGET.upper().replace('-', '_')}_LINKER": f"{CROSS}gcc",
        f"CC_{TARGET.replace('-', '_')}": f"{CROSS}gcc",
    }
    chosen = [word for function in functions for word in ("--bin", function)]
    command = [CARGO, "build", "--release", "--locked", "--target", TARGET, "--target-dir", str(BUILT), *chosen]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def needed_glibc(binary: Path) -> tuple[int, ...]:
    """The newest version of the C library that a binary asks for."""
    versions = subprocess.run(
        [f"{CROSS}readelf", "--wide", "--file-header", "--version-info", str(binary)],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    if not re.search(r"Machine:\s+AArch64", versions):
        raise SystemExit(f"{binary.name} is no arm64 binary")
    return max(tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([\d.]+)", versions))


def libraries(functions: list[str]) -> None:
    needed = {function: needed_glibc(BUILT / TARGET / "release" / function) for function in functions}
    too_new = {function: version for function, version in needed.items() if version > GLIBC}
    if too_new:
        wants = ", ".join(f"{function} {'.'.join(map(str, version))}" for function, version in too_new.items())
        raise SystemExit(f"Lambda has glibc {'.'.join(map(str, GLIBC))}, and these want a newer one: {wants}")
    print(f"{len(needed)} functions for arm64; the newest glibc that one needs is {'.'.join(map(str, max(needed.values())))}")


def answers(functions: list[str]) -> None:
    """Runs tests on a local cloud whose functions are the arm64 ones."""
    shutil.rmtree(RUNNERS, ignore_errors=True)
    RUNNERS.mkdir(parents=True)
    for function in functions:
        runner = RUNNERS / function
        binary = shlex.quote(str(BUILT / TARGET / "release" / function))
        runner.write_text(f"#!/bin/sh\nexec /usr/bin/qemu-aarch64 -L {SYSTEM} {binary}\n")
        runner.chmod(0o755)
    environment = {**os.environ, "ROOST_BIN_DIR": str(RUNNERS), "ROOST_PATIENCE": PATIENCE}
    # The same features as `make test`, so that nothing is built twice.
    subprocess.run(["cargo", "build", "--quiet", "--workspace", "--all-targets"], cwd=ROOT, check=True)
    subprocess.run(["cargo", "test", "--workspace", "--test", "it", "--", *TESTS], cwd=ROOT, env=environment, check=True)


def main() -> None:
    functions = sorted(path.name for path in (ROOT / "functions").iterdir() if (path / "Cargo.toml").exists())
    for step in (build, libraries, answers):
        started = time.monotonic()
        print(f"── {step.__name__}", flush=True)
        step(functions)
        print(f"   done after {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failed:
        sys.exit(f"{failed.cmd[0]} failed with {failed.returncode}")
