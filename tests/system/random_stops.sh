#!/bin/bash
# timeout: 600
# Random SIGSTOP, SIGCONT and SIGKILL of daemons, at random moments of start, run and end.
#   RUNS=100 SEED=1 tests/system/random_stops.sh    more of them; the seed is printed
set -u
build=$(cd "$(dirname "$MUSTER")/.." && pwd)
folder=$(mktemp -d) || exit 1
runs=${RUNS:-12}
clean_ms=2000
times=1
if [ "$MUSTER_SANITIZED" != 0 ]; then
    # What a sanitizer does when a process starts and ends takes longer.
    [ "${RUNS:-}" ] || runs=3
    clean_ms=15000
    times=5
fi
if "$build/tests/programs/random_stops" "$MUSTER" "$build/tests/programs/roll" "$folder" \
    "${SEED:-1}" "$runs" "$clean_ms" "$times"; then
    rm -rf "$folder"
else
    echo "what is left to look at: $folder" >&2
    find "$folder" -type f -exec tail -n 40 {} + >&2
    rm -rf "$folder"
    exit 1
fi
