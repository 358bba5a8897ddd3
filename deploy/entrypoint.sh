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
exec "$@"
