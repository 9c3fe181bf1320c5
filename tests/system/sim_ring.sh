#!/bin/bash
# timeout: 600
# The laws of the ring, by every checker there is; less of it where sanitizers slow it down.
. "$MUSTER_SOURCE/tests/system/sim_common.sh"

# refuses TEXT... -- ARGUMENTS...: exit 2, nothing on stdout, one line on stderr that has every TEXT
refuses() {
    local texts=() text code
    while [ "$1" != -- ]; do texts+=("$1"); shift; done
    shift
    "$MUSTER" "$@" >out 2>err
    code=$?
    [ "$code" -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] || complain "exit $code, or not one line: muster $*"
    for text in "${texts[@]}"; do
        grep -qF -- "$text" err || complain "stderr does not say '$text': muster $*"
    done
}

seeds=1:600 small=1:12000 nodes=4096
if [ "${MUSTER_SANITIZED:-0}" -eq 1 ]; then
    seeds=1:60 small=1:300 nodes=512
fi

# ---- random worlds ----

"$MUSTER" sim check ring --nodes 2:64 --seeds $seeds || complain "check ring, seeds $seeds"
"$MUSTER" sim check ring --nodes 2:6 --seeds $small || complain "check ring, small worlds, seeds $small"

# ---- the checkers themselves ----

if [ "${MUSTER_SANITIZED:-0}" -eq 0 ]; then
    "$MUSTER" sim mutants ring --json | tee mutants
    [ "$(grep -c '"caught":true' mutants)" -ge 19 ] && ! grep -q '"caught":false' mutants ||
        complain "a mutant of the ring is not caught"
    for mutant in $(word mutant mutants); do # each is found again by its seed alone
        seed=$(grep "\"$mutant\"" mutants | sed -n 's/.*"seed":\([0-9]*\).*/\1/p')
        "$MUSTER" sim check ring --nodes 2:64 --seeds "$seed" --mutant "$mutant" --json >out && complain "$mutant: seed $seed"
        grep -q '"violations":1' out || complain "--mutant $mutant --seeds $seed finds nothing"
    done
fi
"$MUSTER" sim check ring --nodes 8 --seeds 3 --trace >out || complain "check ring --trace"
grep -q 'ms  node 0 .* beat #' out || complain "--trace shows no beats"

# ---- a large machine ----

for run in 1 2; do
    "$MUSTER" sim ring --nodes $nodes --fail 1% --seed 7 --json >large$run || complain "ring of $nodes nodes"
done
cat large1
[ -n "$(word digest large1)" ] && [ "$(word digest large1)" = "$(word digest large2)" ] ||
    complain "two runs of one seed differ: $(word digest large1) and $(word digest large2)"
[ "$(number failed large1)" -eq $((nodes / 100)) ] && [ "$(number declared large1)" -eq $((nodes / 100)) ] ||
    complain "not all of 1% have failed and are declared"
at_most messages_per_node_period 2 large1
at_most detect_ms_max "$(number bound_ms large1)" large1
at_most detect_group_ms_max "$(number bound_group_ms large1)" large1
"$MUSTER" sim ring --nodes $nodes --fail 25% --seed 8 --period-ms 10 --timeout-ms 30 --json >quarter ||
    complain "a quarter of $nodes nodes fails"
at_most detect_group_ms_max "$(number bound_group_ms quarter)" quarter

# ---- with the real nodes around the detectors ----

"$MUSTER" sim ring --nodes 256 --fail 5% --seed 3 --spread --json >spread || complain "ring with --spread"
cat spread
grep -q '"spread":true' spread && [ "$(number declared spread)" -eq 12 ] || complain "--spread declares not all of 12"

# ---- bad flags ----

refuses "--nodes is '1'" "from 2 to" -- sim ring --nodes 1
for fail in 64 65 100% 101% -1 x 1.5 1%% "" % 1%x; do
    refuses "--fail is '$fail'" "below --nodes, 64" -- sim ring --nodes 64 --fail "$fail"
done
refuses "--period-ms is 100 and --timeout-ms is 150" "at least two periods" -- sim ring --timeout-ms 150
refuses "--period-ms is '0'" -- sim ring --period-ms 0
refuses "'extra'" -- sim ring extra
refuses "--mutant 'no-lag'" "'ring', not of 'spread'" -- sim check spread --mutant no-lag
refuses "--mutant 'no-resend'" "'spread', not of 'ring'" -- sim check ring --mutant no-resend
refuses "--mutant 'no-lag'" "ring" -- sim explore spread --mutant no-lag

[ $failed -eq 0 ] && echo "all laws of the ring hold"
exit $failed
