#!/bin/bash
# timeout: 600
# The laws of agreement, by every checker there is; less of it where sanitizers slow it down.
. "$MUSTER_SOURCE/tests/system/sim_common.sh"

# explores FLAGS...: complete, without a violation
explores() {
    "$MUSTER" sim explore agree "$@" --json >out || complain "explore agree $*: exit $?"
    echo "$* $(cat out)"
    grep -q '"violations":0,"complete":true' out || complain "explore agree $* is not complete, or breaks a law"
}

# breaks LAW FLAGS...: a violation of that law is found
breaks() {
    local law=$1
    shift
    "$MUSTER" sim explore agree "$@" --json >out 2>trace
    [ $? -eq 1 ] && [ "$(word law out)" = "$law" ] || complain "explore agree $*: $law is not found broken"
    grep -q "$law is broken" trace || complain "explore agree $*: no trace"
}

# refuses TEXT -- ARGUMENTS...: exit 2, nothing on stdout, one line on stderr that has TEXT
refuses() {
    local text=$1 code
    shift 2
    "$MUSTER" "$@" >out 2>err
    code=$?
    [ "$code" -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] || complain "exit $code, or not one line: muster $*"
    grep -qF -- "$text" err || complain "stderr does not say '$text': muster $*"
}

seeds=1:3000 nodes=65536 four=3
if [ "${MUSTER_SANITIZED:-0}" -eq 1 ]; then
    seeds=1:300 nodes=4096 four=2
fi

# ---- every interleaving ----

explores --nodes 2 --crashes 1 --every-order
explores --nodes 3 --crashes 2 --every-order
explores --nodes 4 --crashes $four
explores --nodes 4 --crashes 1 --fanout 1
explores --nodes 4 --crashes 1 --fanout 4
explores --nodes 3 --crashes 2 --agreements 2
explores --nodes 3 --crashes 2 --rounds 2
explores --nodes 3 --crashes 1 --lapses 1 --rounds 2
explores --nodes 3 --crashes 1 --resets 1
explores --nodes 4 --crashes 1 --lapses 1 --fanout 1
explores --nodes 4 --crashes 2 --resets 1
explores --nodes 3 --crashes 2 --proofs 2
explores --nodes 4 --crashes 2 --proofs 1 --fanout 4

# ---- the rules as printed ----

breaks A2 --rules printed --nodes 2 --crashes 1
breaks A1 --rules printed --nodes 3 --crashes 1 --law A1
breaks A3 --rules printed --nodes 4 --crashes 2 --law A3
"$MUSTER" sim check agree --rules printed --nodes 3:8 --seeds 1:400 --json >out
[ $? -eq 1 ] && [ "$(number violations out)" -gt 0 ] || complain "check finds nothing wrong with the printed rules"

# ---- random worlds ----

"$MUSTER" sim check agree --nodes 2:32 --seeds $seeds || complain "check agree, seeds $seeds"
"$MUSTER" sim check agree --nodes 8 --seeds 3 --trace >out || complain "check agree --trace"
grep -q 'ms  node .* UP of 1.1' out || complain "--trace shows no messages"

# ---- the checkers themselves ----

if [ "${MUSTER_SANITIZED:-0}" -eq 0 ]; then
    "$MUSTER" sim mutants agree --json | tee mutants
    [ "$(grep -c '"caught":true' mutants)" -ge 18 ] && ! grep -q '"caught":false' mutants ||
        complain "a mutant of agreement is not caught"
fi

# ---- a large machine ----

for run in 1 2; do
    "$MUSTER" sim agree --nodes $nodes --seed 7 --json >large$run || complain "agreement of $nodes nodes"
done
cat large1
[ -n "$(word digest large1)" ] && [ "$(word digest large1)" = "$(word digest large2)" ] ||
    complain "two runs of one seed differ: $(word digest large1) and $(word digest large2)"
at_most virtual_ms "$(number bound_ms large1)" large1
at_most messages_per_node_max 4 large1
at_most state_bytes_per_node 4096 large1
"$MUSTER" sim agree --nodes 512 --seed 2 --crashes 20 --json >crashes || complain "20 of 512 nodes crash"
[ "$(number survivors crashes)" -lt 512 ] || complain "nobody crashed"

# ---- bad flags ----

refuses "must be at most 64" -- sim check agree --nodes 2:65
refuses "--fanout is 3" -- sim agree --fanout 3
refuses "--fanout is 3" -- sim explore agree --fanout 3
refuses "--crashes is 4" -- sim agree --nodes 4 --crashes 4
refuses "--crashes is 3 with --lapses" -- sim explore agree --nodes 3 --crashes 2 --lapses 1
refuses "at most 7" -- sim explore agree --nodes 8
refuses "of 'agree' only" -- sim check spread --rules printed
refuses "of 'agree' only" -- sim explore spread --rules printed
refuses "'spread', not of 'agree'" -- sim check agree --mutant no-resend
refuses "breaks a rule of 'agree'" -- sim explore spread --mutant no-path
refuses "'nobody' has no mutants" -- sim mutants nobody

[ $failed -eq 0 ] && echo "all laws of agreement hold"
exit $failed
