#!/bin/sh
# Write the locks anew: exact versions with hashes for every supported Python and machine.
set -eu
command -v uv >/dev/null 2>&1 || { echo "lock: uv is needed for this (pip install uv)" >&2; exit 1; }
cd "$(dirname "$0")"
for name in base run test; do
    echo "locking requirements/$name.txt"
    uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
        --python-version 3.11 --upgrade "$name.in" -o "$name.txt"
done
