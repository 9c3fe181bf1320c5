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
[ "$(grep -c '^PASS: ' "$folder/out")" = 1 ] || fail "no PASS"
[ "$(grep -vc '^Note: ' "$folder/out")" -eq 33 ] || fail "not 33 lines"
grep -q '^Result: pi = 3\.141592653590 (error .*); 124 of 124 slices' "$folder/out" || fail "no pi"
[ "$(grep -cE 'nodes notified, the last after [0-9.]+ ms$' "$folder/out")" = 4 ] || fail "there are not four failures"
grep -q '^    .*declared it failed$' "$folder/out" || fail "nothing says why node 6 was declared failed"
[ "$(ls "$folder")" = out ] || fail "it left something: $(ls "$folder")"

# Interrupted while the job runs: nothing of its cluster is left.
TMPDIR=$folder/ STEPS=1000 setsid "$MUSTER_SOURCE/tools/demo" >"$folder/out" 2>&1 &
demo=$!
tries=1000
until grep -qs '^muster: cluster' "$folder"/muster-demo.*/log; do
    [ $((tries -= 1)) -gt 0 ] || fail "the second demo does not come up"
    sleep 0.05
done
machine=$(awk '/^muster: cluster/ { sub(":", "", $3); print $3 }' "$folder"/muster-demo.*/log)
kill -TERM "$demo"
wait "$demo"
code=$?
demo=
[ $code = 143 ] || fail "it exits with $code on SIGTERM, not with 143"
! grep -q "@muster/.*/$machine/" /proc/net/unix || fail "a daemon of cluster $machine is left"
[ "$(ls "$folder")" = out ] || fail "it left something: $(ls "$folder")"
echo "ok: the demo works, and ends when it is told"
