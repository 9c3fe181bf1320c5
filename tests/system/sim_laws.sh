#!/bin/bash
# timeout: 600
# The laws of spread and link, by every checker there is; less of it where sanitizers slow it down.
. "$MUSTER_SOURCE/tests/system/sim_common.sh"

seeds=1:2000 explored="2 3 4"
if [ "${MUSTER_SANITIZED:-0}" -eq 1 ]; then
    seeds=1:100 explored="2 3"
fi

# ---- random worlds ----

"$MUSTER" sim check spread --nodes 2:64 --seeds $seeds || complain "check spread, seeds $seeds"

# ---- every interleaving ----

for nodes in $explored; do
    "$MUSTER" sim explore spread --nodes "$nodes" --crashes $((nodes - 1)) --json | tee out
    [ "${PIPESTATUS[0]}" -eq 0 ] || complain "explore spread with $nodes nodes"
    grep -q '"violations":0,"complete":true' out || complain "explore spread with $nodes nodes is not complete"
done
"$MUSTER" sim explore link --posts 3 --resets 2 --json | tee out
[ "${PIPESTATUS[0]}" -eq 0 ] && grep -q '"complete":true' out || complain "explore link"
for world in "1 1 1" "1 2 1" "2 1 1" "2 2 2" "2 1 2"; do # too little room for what they say
    read -r posts window room <<<"$world"
    "$MUSTER" sim explore link --posts "$posts" --resets 1 --window "$window" --room "$room" --json | tee out
    [ "${PIPESTATUS[0]}" -eq 0 ] && grep -q '"complete":true' out || complain "explore link: posts, window, room $world"
done

# ---- the checkers themselves ----

if [ "${MUSTER_SANITIZED:-0}" -eq 0 ]; then
    "$MUSTER" sim mutants spread --json >mutants || complain "a mutant is not caught"
    cat mutants
    fields='"mutant":"[a-z-]+","caught":true,"by":"(explore spread|explore link|check spread)","seed":([0-9]+|null),'
    [ "$(grep -cvE "^\{$fields.*\}$" mutants)" -eq 0 ] || complain "not every line is a mutant that is caught"
    [ "$(wc -l <mutants)" -ge 6 ] || complain "fewer mutants than rules that can be broken"
    for mutant in $(word mutant mutants); do # each can be tried alone, too
        "$MUSTER" sim check spread --nodes 2 --seeds 1 --mutant "$mutant" >/dev/null 2>err
        [ ! -s err ] || complain "--mutant $mutant: $(cat err)"
    done
fi

# ---- a large machine ----

for run in 1 2; do
    "$MUSTER" sim spread --nodes 65536 --seed 7 --json >large$run || complain "spread over 65536 nodes"
done
cat large1
[ -n "$(word digest large1)" ] && [ "$(word digest large1)" = "$(word digest large2)" ] ||
    complain "two runs of one seed differ: $(word digest large1) and $(word digest large2)"
"$MUSTER" sim spread --nodes 65536 --seed 8 --json >other
[ "$(word digest large1)" != "$(word digest other)" ] || complain "two seeds give the same run"
at_most hops_max 16 large1              # S4: log2 N
at_most messages_per_node_max 32 large1 # S3: 2 log2 N
at_most state_bytes_per_node 4096 large1

# ---- record and replay ----

seed=11 nodes=64
"$MUSTER" sim spread --nodes $nodes --seed $seed --kill node --json >whole
for node in 0 1 31 63; do
    # The node that dies records nothing after its start; the others record all the same.
    "$MUSTER" sim spread --nodes $nodes --seed $seed --kill node --record r$node --record-node $node --json >recorded ||
        complain "spread with --record, node $node"
    [ "$(word digest whole)" = "$(word digest recorded)" ] || complain "recording changes the run"
    "$MUSTER" sim replay r$node --json >replayed || complain "replay of node $node: exit $?"
    [ -n "$(word digest replayed)" ] && [ "$(word digest replayed)" = "$(word recorded replayed)" ] ||
        complain "node $node does not replay to its digest"
    grep -q '"same":true' replayed || complain "node $node does not replay as the same"
    [ "$(number events replayed)" -gt 1 ] && [ "$(number delivered replayed)" -eq 1 ] ||
        complain "node $node was to hear of one death"
done

# One bit of the events other than it was: never "the same" to its end, and never a
# crash.
header=68
size=$(stat -c %s r0)
[ "$size" -gt $header ] || complain "a recording without events"
for ((at = header; at < size; at += 7)); do
    byte=$(od -An -tu1 -j $at -N 1 r0)
    cp r0 flipped
    printf "\\x$(printf %x $((byte ^ 1 << at % 8)))" | dd of=flipped bs=1 seek=$at conv=notrunc status=none
    "$MUSTER" sim replay flipped >out 2>&1
    code=$?
    [ $code -eq 0 ] && grep -q "has no end" out && continue # of a length: it ends inside a record
    [ $code -eq 1 ] || [ $code -eq 2 ] || complain "byte $at of $size flipped: exit $code: $(head -3 out)"
done

[ $failed -eq 0 ] && echo "all laws hold"
exit $failed
