#!/bin/sh
# Pins with hashes for all platforms SPU runs on, without index addresses. dev.txt is the superset that .venv holds;
# party.txt takes its pins from it; base.txt stands alone, since an analyst may be on any current Python.
set -eu
uv=.venv/bin/uv
compile="$uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate --python-version 3.11"
$compile pyproject.toml --extra party --group dev "$@" -o requirements/dev.txt
$compile pyproject.toml --extra party --constraint requirements/dev.txt "$@" -o requirements/party.txt
$compile pyproject.toml "$@" -o requirements/base.txt
sed -n 's/^requires = \["\(.*\)"\]$/\1/p' pyproject.toml | $compile - "$@" -o requirements/build.txt
