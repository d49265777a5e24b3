#!/bin/sh
# Makes .venv from the pinned, hashed requirements: product, tools and what the benchmarks read with.
# Run by make; needs Python 3.11 (PYTHON=... chooses one), its venv module, and a package index. Two steps, since a
# hash line puts pip in hash mode and a local project cannot be hashed.
set -eu
need="vertwin needs Python 3.11 and about 2 GB of disk"
stop() { echo "setup: $1" >&2; exit 3; }

stamp=.venv/.vertwin-$(cat requirements/dev.txt requirements/build.txt pyproject.toml | cksum | tr ' ' '-')
[ -f "$stamp" ] && exit 0

case "$(uname -s)/$(uname -m)" in
    Linux/x86_64 | Linux/aarch64 | Darwin/arm64) ;;
    *) stop "the secure engine (SPU) has no build for $(uname -s) on $(uname -m): use Linux on x86-64 or aarch64 (on Windows, WSL2), or macOS on arm64" ;;
esac

python=${PYTHON:-}
if [ -z "$python" ]; then
    for candidate in python3.11 python3 python; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' >/dev/null 2>&1; then
            python=$candidate
            break
        fi
    done
fi
if [ -z "$python" ]; then
    command -v uv >/dev/null 2>&1 || stop "$need: install python3.11 (or uv, which fetches it), or name one with PYTHON=/path/to/python3.11"
    uv python install 3.11 >&2 || stop "$need, and uv could not fetch it: install python3.11, or name one with PYTHON=..."
    python=$(uv python find 3.11)
fi
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' >/dev/null 2>&1 ||
    stop "$python is not a Python 3.11, and $need"
"$python" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
    stop "$python has no venv module: install it (Debian: apt-get install python3.11-venv)"
if [ "$(uname -s)" = Linux ] && ! "$python" -c 'import ctypes; ctypes.CDLL("libgomp.so.1")' >/dev/null 2>&1; then
    stop "the secure engine needs the system library libgomp.so.1: install it (Debian: apt-get install libgomp1)"
fi
free=$(df -Pk . | awk 'NR==2 {print int($4 / 1024)}')
[ "$free" -ge 2500 ] || [ -d .venv ] || stop "$need; this disk has $free MB free"

echo "setup: making .venv with $("$python" --version) (about a minute, 2 GB)" >&2
rm -rf .venv
"$python" -m venv .venv
quiet="--quiet --disable-pip-version-check"
# shellcheck disable=SC2086
.venv/bin/python -m pip install $quiet --require-hashes --only-binary :all: -r requirements/dev.txt -r requirements/build.txt
# shellcheck disable=SC2086
.venv/bin/python -m pip install $quiet --no-deps --no-build-isolation --no-index -e .
.venv/bin/python -c 'import spu' >/dev/null 2>.venv/spu.log ||
    stop "the secure engine (SPU) does not load on this machine: $(tail -n 1 .venv/spu.log)"
touch "$stamp"
