#!/bin/bash
# timeout: 300
# The laws of recommended groups in random worlds; rules broken on purpose; a large group; verdicts.
. "$MUSTER_SOURCE/tests/system/sim_common.sh"

seeds=3000
[ "${MUSTER_SANITIZED:-0}" -eq 0 ] || seeds=200

# holds NODES SEEDS: no law is broken
holds() {
    "$MUSTER" sim check advise --nodes "$1" --seeds "$2" --json >out || complain "check advise $1 $2: exit $?"
    cat out
    grep -q '"violations":0' out || complain "check advise --nodes $1 --seeds $2 breaks a law"
}

holds 2:7 1:$seeds
holds 2:32 1:$((seeds / 10))
holds 4 932:932   # an accusation of one that is no tester any more
holds 4 2713:2713 # an answer to the question of an earlier stint
holds 6 10908:10908 # one that begins work after the others have contributed

# ---- one large group ----

"$MUSTER" sim advise --nodes 512 --json >out || complain "sim advise: exit $?"
cat out
grep -q '"out":32,"back":32,"well_out":0' out || complain "not all of the slow leave and return, or others do"
"$MUSTER" sim advise --nodes 512 --json >again
[ "$(word digest out)" = "$(word digest again)" ] || complain "the same seed gives another run"

# ---- verdicts: the median against the printed threshold ----

"$MUSTER" sim verdicts --tests 100000 --json >out || complain "sim verdicts: exit $?"
cat out
[ "$(grep -c '"verdict":"2 x median, middle of 3 runs, 2 of 3"' out)" -eq 2 ] || complain "a row of the median is missing"
[ "$(grep '2 of 3' out | grep -c '"found_percent":\(99\|100\)')" -eq 2 ] || complain "the median misses steps"
[ "$(grep 'printed, factor 2.5' out | grep -c '"found_percent":\(1\?[0-9]\)[.,]')" -eq 2 ] ||
    complain "the printed threshold finds more than it should"

# ---- rules broken on purpose ----

if [ "${MUSTER_SANITIZED:-0}" -eq 0 ]; then
    "$MUSTER" sim mutants advise --json >mutants || complain "a mutant is not caught"
    cat mutants
    [ "$(grep -c '"caught":true' mutants)" -eq 20 ] || complain "not all 20 mutants are caught"
fi

"$MUSTER" sim advise --nodes 512 --assignment pairs 2>err
[ $? -eq 2 ] && grep -q "at most 64" err || complain "all pairs of 512 are not refused"
exit $failed
