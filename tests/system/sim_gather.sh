#!/bin/bash
# timeout: 300
# The laws of exchanges in every interleaving; less of it where sanitizers slow it down.
. "$MUSTER_SOURCE/tests/system/sim_common.sh"

# explores FLAGS...: complete, without a violation
explores() {
    "$MUSTER" sim explore gather "$@" --json >out || complain "explore gather $*: exit $?"
    echo "$* $(cat out)"
    grep -q '"violations":0,"complete":true' out || complain "explore gather $* is not complete, or breaks a law"
}

explores --nodes 2 --crashes 1 --rounds 3
explores --nodes 3 --crashes 2 --rounds 3
explores --nodes 4 --crashes 3
explores --nodes 4 --crashes 3 --fanout 4
explores --nodes 4 --crashes 3 --rounds 2
explores --nodes 5 --crashes 4 --fanout 1
if [ "${MUSTER_SANITIZED:-0}" -eq 0 ]; then
    explores --nodes 5 --crashes 4
fi

# ---- rules broken on purpose ----

"$MUSTER" sim mutants gather --json >mutants || complain "a mutant is not caught"
cat mutants
[ "$(grep -c '"caught":true,"by":"explore gather"' mutants)" -eq 6 ] || complain "not all six mutants are caught"
for mutant in $(word mutant mutants); do
    "$MUSTER" sim explore gather --nodes 4 --crashes 3 --rounds 2 --mutant "$mutant" --json >out 2>trace
    [ $? -eq 1 ] && grep -q 'is broken' trace || complain "explore gather --mutant $mutant finds nothing"
done

# ---- what cannot be ----

"$MUSTER" sim explore gather --nodes 8 2>err
[ $? -eq 2 ] && grep -q "at most 7 for 'gather'" err || complain "8 nodes are not refused"
"$MUSTER" sim explore gather --mutant no-askers 2>err
[ $? -eq 2 ] && grep -q "a rule of 'agree'" err || complain "a mutant of another protocol is not refused"
exit $failed
