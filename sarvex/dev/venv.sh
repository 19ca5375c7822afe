#!/bin/sh
# Have .venv with the locked requirements of one kind: venv.sh PYTHON run|test
# Does nothing when they are there. A stamp is written last, so that an install which failed or was
# interrupted is never taken for a good one; a .venv that was begun and not finished is made anew.
set -eu
python=$1
kind=$2
lock=requirements/$kind.txt
stamp=.venv/installed-$kind

say() { printf '%s\n' "sarvex: $*"; }
refuse() { printf '%s\n' "sarvex: $*" >&2; exit 1; }

# What the stamp says: the lock's content, and the interpreter that it was installed for.
wanted() { cat "$lock" | cksum; .venv/bin/python -c 'import sys; print(sys.version, sys.prefix)' 2>/dev/null; }
is_installed() { [ -f "$1" ] && [ "$(wanted)" = "$(cat "$1")" ]; }

is_installed "$stamp" && exit 0

# Two commands at once do not install over one another. The lock is a folder: that works everywhere.
waited=0
mkdir -p .sarvex
until mkdir .sarvex/venv.lock 2>/dev/null; do
    holder=$(cat .sarvex/venv.lock/pid 2>/dev/null || true)
    if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
        rm -rf .sarvex/venv.lock # of an install that was killed
        continue
    fi
    [ $waited -ne 0 ] || say "waiting for another install in this checkout to end"
    waited=$((waited + 1))
    [ $waited -lt 600 ] || refuse "another install does not end: remove .sarvex/venv.lock and try again"
    sleep 1
done
trap 'rm -rf .sarvex/venv.lock' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
echo $$ >.sarvex/venv.lock/pid
is_installed "$stamp" && exit 0

if [ ! -f .venv/created ] || ! .venv/bin/python -c '' 2>/dev/null; then
    command -v "$python" >/dev/null 2>&1 || refuse "$python not found: install Python 3.11, 3.12 or 3.13, or say make PYTHON=..."
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || refuse "$python does not run"
    case $version in
    3.11 | 3.12 | 3.13) ;;
    *) refuse "$python is Python $version; needed is 3.11, 3.12 or 3.13: make PYTHON=python3.11 ..." ;;
    esac
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        refuse "$python has no venv module: install it (Debian, Ubuntu: apt install python3-venv)"
    say "creating .venv with Python $version"
    rm -rf .venv
    "$python" -m venv .venv || refuse "$python -m venv .venv failed"
    # The checkout is importable from every program of the environment.
    pwd >"$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/sarvex-checkout.pth"
    : >.venv/created
fi

say "installing the locked requirements ($lock); the first time takes a minute"
rm -f .venv/installed-*
# Exactly these versions and files, nothing compiled here, no other source of surprises.
.venv/bin/python -m pip install -qq --disable-pip-version-check --no-input --require-hashes \
    --only-binary=:all: -r "$lock" || refuse "installing $lock failed: see pip's lines above; try again with the same command"
wanted >"$stamp.draft"
mv "$stamp.draft" "$stamp"
# The lock for the tests holds all that running needs.
[ "$kind" != test ] || { cat requirements/run.txt | cksum; .venv/bin/python -c 'import sys; print(sys.version, sys.prefix)'; } >.venv/installed-run
say "installed"
