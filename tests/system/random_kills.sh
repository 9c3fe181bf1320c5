#!/bin/bash
# timeout: 600
# Random kills of processes, daemons and the launcher, at random moments of start, run and end.
#   RUNS=200 SEED=1 tests/system/random_kills.sh    more of them; the seed is printed
set -u
build=$(cd "$(dirname "$MUSTER")/.." && pwd)
folder=$(mktemp -d) || exit 1
runs=${RUNS:-40}
[ "${RUNS:-}" ] || [ "$MUSTER_SANITIZED" = 0 ] || runs=8
# Two seconds are the law; what a sanitizer does when a process ends takes longer.
clean_ms=2000
[ "$MUSTER_SANITIZED" = 0 ] || clean_ms=15000
if "$build/tests/programs/random_kills" "$MUSTER" "$build/tests/programs/roll" "$folder" \
    "${SEED:-1}" "$runs" "$clean_ms"; then
    rm -rf "$folder"
else
    echo "what is left to look at: $folder" >&2
    find "$folder" -type f -exec tail -n 20 {} + >&2
    rm -rf "$folder"
    exit 1
fi
