#!/bin/bash
# timeout: 300
# What 'muster sim' says: help, one clear line for bad input, JSON for scripts.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0

complain() {
    echo "FAIL: $*"
    sed 's/^/    out: /' out | head -5
    sed 's/^/    err: /' err | head -5
    failed=1
}

# run ARGUMENTS...: leaves its output in out and err, and the exit code in $code
run() {
    "$MUSTER" "$@" >out 2>err
    code=$?
}

# refuses TEXT... -- ARGUMENTS...: exit 2, nothing on stdout, one line on stderr that has every TEXT
refuses() {
    local texts=() text
    while [ "$1" != -- ]; do texts+=("$1"); shift; done
    shift
    run "$@"
    [ "$code" -eq 2 ] || complain "exit $code instead of 2: muster $*"
    [ ! -s out ] || complain "something on stdout: muster $*"
    [ "$(wc -l <err)" -eq 1 ] || complain "not exactly one line on stderr: muster $*"
    for text in "${texts[@]}"; do
        grep -qF -- "$text" err || complain "stderr does not say '$text': muster $*"
    done
}

# ---- help ----

helps() {
    run "$@" --help
    [ "$code" -eq 0 ] && [ ! -s err ] || complain "--help: exit $code, or something on stderr: muster $*"
    grep -q "^usage: muster${*:+ $*} " out || complain "--help shows no usage: muster $*"
    cp out long
    run "$@" -h
    cmp -s out long || complain "-h is not --help: muster $*"
}
helps
helps sim
for command in spread ring agree check explore mutants replay; do
    helps sim $command
    "$MUSTER" sim --help | grep -q "^  $command " || complain "sim --help does not list $command"
done
run sim spread --nodes 8 --help # wherever it stands
[ "$code" -eq 0 ] && grep -q '^usage:' out || complain "--help after another flag"
run --version
[ "$code" -eq 0 ] && grep -qxE 'muster [0-9]+\.[0-9]+\.[0-9]+' out || complain "--version"

# Without a command: the list, where errors go.
for command in "" sim; do
    run $command
    [ "$code" -eq 2 ] && [ ! -s out ] && grep -q '^usage:' err || complain "no command: muster $command"
done

# ---- commands, flags and values that are not there ----

refuses "'nonsense'" "muster --help" -- nonsense
refuses "'nonsense'" "muster sim --help" -- sim nonsense
refuses "'--nodes'" -- sim --nodes 3
refuses "'--bogus'" "muster sim spread --help" -- sim spread --bogus
refuses "'-n'" -- sim spread -n 3
refuses "'--node'" -- sim spread --node 3
refuses "'extra'" -- sim spread extra
refuses "'extra'" -- sim mutants extra
refuses "'extra'" -- sim replay one extra
refuses "'spread'" -- sim check spread spread
refuses "'link'" "there are: spread, ring, agree" -- sim check link
refuses "there are: spread, ring, agree" -- sim check
refuses "'nonsense'" "there are: spread, link, agree, gather" -- sim explore nonsense
refuses "there are: spread, link, agree, gather" -- sim explore
refuses "missing FILE" -- sim replay
for command in "spread --nodes" "spread --seed" "spread --kill" "spread --record" "check spread --seeds" \
    "check spread --mutant" "explore spread --crashes"; do
    refuses "--${command##*--} needs a value" -- sim $command
done
refuses "--json takes no value" "'yes'" -- sim spread --json=yes

# ---- values that break a rule: the value and the rule ----

for nodes in 0 16777217 99999999999999999999 -3 +3 3.5 0x10 "" " 3" "3 " abc 8:9 --json; do
    refuses "--nodes is '$nodes'" "from 1 to 16777216" -- sim spread --nodes "$nodes"
    refuses "--nodes is '$nodes'" "from 1 to 16777216" -- sim spread "--nodes=$nodes"
done
for nodes in 64:2 0:4 1 2:257 0 : 2: :64 2:3:4 a:b -2:4 2-64 "" 2:99999999999999999999; do
    refuses "--nodes is '$nodes'" "2 <= A <= B <= 256" -- sim check spread --nodes "$nodes"
done
refuses "--seeds is '9:1'" "A <= B" -- sim check spread --seeds 9:1
long=$(printf '1%.0s' {1..100})
refuses "--seeds is '$long:$long'" -- sim check spread --seeds "$long:$long"
refuses "--seed is '9223372036854775808'" "9223372036854775807" -- sim spread --seed 9223372036854775808
refuses "--kill is 'rack'" "process|node" -- sim spread --kill rack
refuses "--kill is ''" "process|node" -- sim spread --kill ""
refuses "--kill is 'process|node'" -- sim spread --kill 'process|node'
refuses "--kill node" "at least 2" -- sim spread --nodes 1 --kill node
refuses "--mutant 'nonsense'" -- sim check spread --mutant nonsense
refuses "--mutant 'nonsense'" -- sim explore spread --mutant nonsense
refuses "--crashes is 3" "below --nodes, 3" -- sim explore spread --nodes 3 --crashes 3
refuses "--crashes is 4" "below --nodes, 3" -- sim explore spread --nodes 3 --crashes 4
refuses "--crashes is '9'" "from 0 to 8" -- sim explore spread --crashes 9
refuses "--nodes is '1'" "from 2 to 8" -- sim explore spread --nodes 1
refuses "--posts is 4" "at most --nodes, 3" -- sim explore spread --nodes 3 --posts 4
refuses "--window is '0'" "from 1 to 8" -- sim explore link --window 0
for other in --json --trace "--record r"; do
    refuses "--picture" "${other%% *}" -- sim spread --nodes 8 --picture $other
done
refuses "--trace needs one seed" "1:2" -- sim check spread --trace --seeds 1:2

# ---- files ----

refuses "'no/such/folder/file'" "No such file or directory" -- sim spread --record no/such/folder/file
refuses "'$scratch'" "Is a directory" -- sim spread --record "$scratch"
refuses "--record-node is 8" "below --nodes, 8" -- sim spread --nodes 8 --record r --record-node 8
if [ -w /dev/full ]; then
    run sim spread --nodes 8 --record /dev/full
    [ "$code" -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "/dev/full: No space" err || complain "a full disk"
    for command in "spread --nodes 8" "spread --nodes 8 --json" "check spread --seeds 1"; do
        "$MUSTER" sim $command >/dev/full 2>err
        [ $? -eq 1 ] && grep -q "No space" err || complain "output to a full disk: sim $command"
    done
fi

refuses "no/such/file: No such file or directory" -- sim replay no/such/file
mkdir none
refuses "no *.record in 'none'" -- sim replay none
: >empty
refuses "empty: " "0 bytes" -- sim replay empty
echo "This is not a recording, but a text that is long enough to be one, or so it seems." >garbage
refuses "garbage: " "MUSTREC1" -- sim replay garbage
head -c 4096 /dev/zero >zeros
refuses "zeros: " -- sim replay zeros
run sim spread --nodes 8 --seed 3 --kill node --record recording
[ "$code" -eq 0 ] || complain "cannot record"
size=$(stat -c %s recording)
for ((length = 0; length < size; length += 13)); do
    head -c "$length" recording >truncated
    if [ "$length" -lt 68 ]; then # of the header
        refuses "truncated: " -- sim replay truncated
        continue
    fi
    run sim replay truncated
    [ "$code" -eq 0 ] && grep -q "has no end" out || complain "cut off at byte $length: exit $code"
done
head -c $((size - 1)) recording >truncated
run sim replay --json truncated
[ "$code" -eq 0 ] && grep -q '"end":"cut"' out || complain "without its last byte: exit $code"
{ cat recording; echo; } >longer
refuses "longer: " "1 bytes follow" -- sim replay longer
{ printf 'MUSTREC1\177'; tail -c +10 recording; } >newer # another version
refuses "newer: " "127" -- sim replay newer

# ---- JSON ----

string='"([^"\\]|\\.)*"'
scalar="($string|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false|null)"
flat="\{$string:$scalar(,$string:$scalar)*\}"
object="\{$string:($scalar|$flat)(,$string:($scalar|$flat))*\}"

# is_json FIELD=PATTERN...: out is one line, one object, with each FIELD once, and its value as a whole a PATTERN
is_json() {
    local field name
    [ "$(wc -l <out)" -eq 1 ] && grep -qxE "$object" out || complain "not one line with one JSON object"
    for field; do
        name=${field%%=*}
        grep -qE "[{,]\"$name\":(${field#*=})[,}]" out || complain "JSON: no $name that is ${field#*=}"
        [ "$(grep -oE "[{,]\"$name\":" out | wc -l)" -eq 1 ] || complain "JSON: $name more than once"
    done
}
integer='[0-9]+'
real='[0-9]+\.[0-9]+([eE][-+][0-9]+)?'

for kill in process node; do
    run sim spread --nodes 64 --seed 7 --kill $kill --json
    [ "$code" -eq 0 ] && [ ! -s err ] || complain "spread --json: exit $code"
    is_json nodes=64 seed=7 hops_max=$integer messages_per_node_max=$integer acks_per_node_max=$integer \
        messages=$integer state_bytes_per_node=$integer "virtual_ms=$real" events=$integer "wall_s=$real" \
        "rss_mib=$real" 'digest="[0-9a-f]{32}"'
done

run sim check spread --nodes 2:16 --seeds 1:20 --json
[ "$code" -eq 0 ] && [ ! -s err ] || complain "check --json: exit $code"
is_json runs=20 violations=0 first=null events=$integer crashes=$integer

run sim check spread --nodes 2:64 --seeds 1:20 --mutant no-resend --json
[ "$code" -eq 1 ] || complain "check with a mutant: exit $code"
is_json runs=20 'violations=[1-9][0-9]*' events=$integer crashes=$integer seed=$integer step=$integer \
    nodes=$integer 'law="[A-Z0-9a-z-]+"' 'message="[^"]+"'
grep -q '"first":{"seed":' out || complain "check: first is an object"
seed=$(sed 's/.*"first":{"seed":\([0-9]*\).*/\1/' out)
run sim check spread --nodes 2:64 --seeds "$seed" --mutant no-resend --json # found again by its seed alone
[ "$code" -eq 1 ] && grep -q "\"first\":{\"seed\":$seed," out || complain "seed $seed does not show it again"

run sim explore spread --nodes 3 --crashes 2 --json
[ "$code" -eq 0 ] && [ ! -s err ] || complain "explore --json: exit $code"
is_json states=$integer transitions=$integer depth_max=$integer violations=0 complete=true "wall_s=$real" "rss_mib=$real"
run sim explore spread --nodes 3 --crashes 2 --mutant no-redundant-edges --json
[ "$code" -eq 1 ] || complain "explore with a mutant: exit $code"
is_json violations=1 complete=false 'law="S[0-9]"' 'message="[^"]+"' trace_length=$integer
grep -q 'shortest trace' err || complain "explore: no trace on stderr"

run sim replay recording --json
[ "$code" -eq 0 ] && [ ! -s err ] || complain "replay --json: exit $code"
is_json events=$integer effects=$integer delivered=$integer 'digest="[0-9a-f]{32}"' 'recorded="[0-9a-f]{32}"' 'end="complete"' \
    same=true

for command in "spread --nodes 8" "check spread --nodes 8 --seeds 3" "replay recording"; do
    run sim $command --json --trace # the trace goes beside it
    [ "$code" -eq 0 ] && [ -s err ] || complain "$command --json --trace: exit $code"
    is_json events=$integer
done

# ---- words ----

run sim spread --nodes 64 --seed 7
[ "$code" -eq 0 ] && grep -q '^64 nodes, seed 7$' out || complain "spread in words"
run sim spread --nodes 64 --seed 7 --picture
[ "$code" -eq 0 ] && grep -q '^All 64 survivors know after' out || complain "spread in a picture"
! grep -q $'\033' out || complain "colour, though this is no terminal"
run sim spread --nodes 16 --seed 7 --kill node --picture
[ "$code" -eq 0 ] && grep -q '^All 15 survivors know after' out || complain "spread of a node's death in a picture"
[ "$(grep -c ' x ' out)" -ge 1 ] || complain "the dead node is not crossed out"
run sim check spread --nodes 8 --seeds 3 --trace
[ "$code" -eq 0 ] && [ "$(wc -l <out)" -gt 20 ] || complain "check --trace"

[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
