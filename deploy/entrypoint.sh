#!/bin/sh
# Reads secrets from files into the variables that evenhand and the client of PostgreSQL read, then runs a command.
set -eu
if [ -n "${EVENHAND_TOKEN_FILE:-}" ]; then
    EVENHAND_TOKEN=$(cat "$EVENHAND_TOKEN_FILE")
    export EVENHAND_TOKEN
fi
if [ -n "${PGPASSWORD_FILE:-}" ]; then
    PGPASSWORD=$(cat "$PGPASSWORD_FILE")
    export PGPASSWORD
fi
# Numba reads kernels only from a folder that it can write to: in a read-only file system they are copied.
if [ -d "${NUMBA_CACHE_DIR:-}" ] && [ ! -w "$NUMBA_CACHE_DIR" ] && copy=$(mktemp -d); then
    cp -R "$NUMBA_CACHE_DIR/." "$copy"
    export NUMBA_CACHE_DIR="$copy"
fi
exec "$@"
