#!/bin/bash
# What 'make demo' shows works, with enough to compute for the long timeouts of tests; and when it is interrupted,
# nothing is left of it.
# timeout: 180
set -u
folder=$(mktemp -d) || exit 1
demo=
clean() {
    [ -z "$demo" ] || kill -TERM "$demo" 2>/dev/null
    rm -rf "$folder"
}
trap clean EXIT
fail() {
    echo "FAILED: $*" >&2
    cat "$folder/out" >&2
    exit 1
}

TMPDIR=$folder/ STEPS=64 "$MUSTER_SOURCE/tools/demo" >"$folder/out" 2>&1 || fail "the demo exits with $?"
[[ $(tail -n 1 "$folder/out") == "Everybody was told, and the work is done."* ]] || fail "not its last line"
grep -q '^All 124 slices are there, .*  pi = 3\.141592653590, error' "$folder/out" || fail "no pi"
[ "$(grep -c 'knows it after, ms' "$folder/out")" = 4 ] || fail "there are not four tables"
grep -q '^    .*node 6.* silent' "$folder/out" || fail "nothing says why node 6 was given up"

# Interrupted while the job runs: its machine is the only one whose daemons are its descendants.
TMPDIR=$folder/ STEPS=1000 setsid "$MUSTER_SOURCE/tools/demo" >"$folder/out" 2>&1 &
demo=$!
tries=1000
until grep -q '^    machine' "$folder/out"; do
    [ $((tries -= 1)) -gt 0 ] || fail "the second demo does not come up"
    sleep 0.05
done
machine=$(awk '$1 == "machine" { sub(":", "", $2); print $2 }' "$folder/out")
kill -TERM "$demo"
wait "$demo"
code=$?
demo=
[ $code = 143 ] || fail "it exits with $code on SIGTERM, not with 143"
! grep -q "@muster/.*/$machine/" /proc/net/unix || fail "a daemon of machine $machine is left"
[ "$(ls "$folder")" = out ] || fail "it left something: $(ls "$folder")"
echo "ok: the demo works, and ends when it is told"
