#!/bin/bash
# timeout: 600
# The laws of the central detector, and a mutant for each rule; less of it where sanitizers slow it down.
. "$MUSTER_SOURCE/tests/system/sim_common.sh"

seeds=1:1500 small=1:6000
if [ "${MUSTER_SANITIZED:-0}" -eq 1 ]; then
    seeds=1:60 small=1:300
fi

"$MUSTER" sim check central --nodes 2:48 --seeds $seeds || complain "check central, seeds $seeds"
"$MUSTER" sim check central --nodes 2:5 --seeds $small || complain "check central, small worlds, seeds $small"

if [ "${MUSTER_SANITIZED:-0}" -eq 0 ]; then
    "$MUSTER" sim mutants central --json | tee mutants
    [ "$(grep -c '"caught":true' mutants)" -ge 18 ] && ! grep -q '"caught":false' mutants ||
        complain "a mutant of the central detector is not caught"
fi
"$MUSTER" sim check central --nodes 4 --seeds 3 --trace >out || complain "check central --trace"
grep -q 'sends to POLL 1, cycle 1' out || complain "--trace shows no polls"

# ---- the printed algorithm, on hosts that are all well ----

"$MUSTER" sim central --nodes 65 --cycles 2000 --rules printed --json | tee printed
at_least() { awk -v a="$(number "$1" "$3")" -v b="$2" 'BEGIN { exit !(a >= b) }' || complain "$1 is below $2"; }
at_least false_per_cycle 60 printed
at_least false_per_cycle_if_restored 1 printed
"$MUSTER" sim central --nodes 65 --cycles 2000 --json >ours || complain "a healthy host is declared"
[ "$(number false ours)" -eq 0 ] || complain "a healthy host is declared"

[ $failed -eq 0 ] && echo "all laws of the central detector hold"
