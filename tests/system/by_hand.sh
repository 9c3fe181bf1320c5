# Tools for system tests that run real daemons; to be sourced, in a scratch folder of the test's own.
#
# Several tests may run at once, as the same user on the same host: each speaks to its own machine by
# its number, and ends only what it started.

programs=${MUSTER%/bin/muster}/tests/programs
musterd=${MUSTER%muster}musterd

failed=0
complain() {
    echo "FAIL: $*"
    failed=1
}

# wait_until SECONDS COMMAND...: until COMMAND succeeds; false when it does not in time
wait_until() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}

# gone PID: it has ended (a child of ours that nobody waited for yet has, too)
gone() { ! [ -e "/proc/$1" ] || [[ $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) == Z* ]]; }

# ---- JSON, as 'muster status --json' and hostile print it: one line, compact ----

# of_node SLOT FILE: what FILE says of one node
of_node() { sed 's/{"slot":/\n&/g; s/\],"jobs".*//' "$2" | grep "^{\"slot\":$1,"; }

# number NAME: that field of the JSON on standard input; nothing when there is none
number() { sed -n "s/.*[{,]\"$1\":\([0-9]*\).*/\1/p"; }

# word NAME: the same for a string
word() { sed -n "s/.*[{,]\"$1\":\"\([^\"]*\)\".*/\1/p"; }

# counter NAME SLOT FILE
counter() { of_node "$2" "$3" | number "$1"; }

# ---- a machine by hand: this shell is the launcher ----
#
# bring_up SIZE [COMMAND...]: daemons with the number $machine and the key $key, run through COMMAND.
# Sets pids, witnesses (the daemons' parents, children of this shell), and ports on 127.0.0.1.  The key has no byte 00 or 0a, so that grep can look for it; it
# goes to the daemons through pipes only, by a builtin: no program ever has it in its arguments.
# A test that stops daemons for long sets hand_timeout_ms, else they are declared dead.
hand_timeout_ms=500
bring_up() {
    local size=$1 i line
    shift
    machine=$(head -c 8 /dev/urandom | od -An -tx8 | tr -d ' ')
    key=$(head -c 4096 /dev/urandom | tr -dc 1-9b-f | head -c 64)
    pids=() witnesses=() ports=() to=() from=()
    for ((i = 0; i < size; i++)); do
        rm -f to$i from$i
        mkfifo to$i from$i
        # opening a pipe waits for its other end; so none of them has a descriptor of ours
        "$@" "$musterd" <to$i >from$i 2>daemon$i.err &
        witnesses+=($!)
    done
    for ((i = 0; i < size; i++)); do
        exec {line}>to$i
        to+=($line)
        exec {line}<from$i
        from+=($line)
        printf '%s\n' "muster-orders 1" "machine $machine" "key $key" "size $size" "slot $i" \
            "listen 127.0.0.1" "name hand$i" "period 100000000" "timeout ${hand_timeout_ms}000000" shared-host . >&"${to[i]}"
    done
    for ((i = 0; i < size; i++)); do
        read -r -t 30 line <&"${from[i]}"
        [[ $line =~ ^"listening 127.0.0.1 "([0-9]+)" "([0-9]+)$ ]] || { complain "daemon $i says '$line'"; return 1; }
        ports+=("${BASH_REMATCH[1]}")
        pids+=("${BASH_REMATCH[2]}")
    done
    for ((i = 0; i < size; i++)); do
        for ((line = 0; line < size; line++)); do
            echo "node $line 127.0.0.1 ${ports[line]}"
        done >&"${to[i]}"
        echo . >&"${to[i]}"
    done
    for ((i = 0; i < size; i++)); do
        read -r -t 30 line <&"${from[i]}"
        [ "$line" = ready ] || { complain "daemon $i says '$line' instead of ready"; return 1; }
    done
}

# take_down: the lifelines end, and with them the daemons; each must exit 0
take_down() {
    local i code
    for i in "${!to[@]}"; do
        echo end >&"${to[i]}" 2>/dev/null
        exec {to[i]}>&- {from[i]}<&-
    done
    for i in "${!witnesses[@]}"; do
        if ! wait_until 30 gone "${witnesses[i]}"; then
            complain "daemon $i does not end"
            kill -KILL "${witnesses[i]}" "${pids[i]}"
        fi
        wait "${witnesses[i]}"
        code=$?
        [ $code -eq 0 ] || complain "daemon $i: exit $code: $(head -3 daemon$i.err)"
    done
    pids=() witnesses=() to=() from=()
}

# ---- a machine by 'muster run', with the program survivor ----
#
# start_job NODES PROCESSES [COMMAND...]: runs, through COMMAND, and every process is there.  Sets run
# (the process id of the launcher) and machine.  More flags of 'muster run' stand in run_flags.
run_flags=()
start_job() {
    local nodes=$1 processes=$2
    shift 2
    rm -f input
    mkfifo input
    : >run.out # else what a job before this one has said is there until the shell gets to it
    "$@" "$MUSTER" run --nodes "$nodes" -n "$processes" --on-failure continue \
        ${run_flags[@]+"${run_flags[@]}"} "$programs/survivor" <input >run.out 2>run.err &
    run=$!
    exec {run_input}>input
    wait_until 30 are_here "$processes" || { complain "not all $processes processes are here: $(cat run.err)"; return 1; }
    machine=$(sed -n 's|^.*here 0 [0-9]* muster/[0-9]*/\([0-9a-f]*\)/[0-9]*$|\1|p' run.out)
}
are_here() { [ "$(grep -c 'here [0-9]' run.out)" -eq "$1" ]; }

# pid_of RANK
pid_of() { sed -n "s|^.*here $1 \([0-9]*\) .*|\1|p" run.out; }

# end_job: rank 0 is told to stop, and so everybody stops.  Leaves the exit code in $code.
end_job() {
    exec {run_input}>&-
    if ! wait_until 30 gone "$run"; then
        complain "'muster run' does not end"
        kill -KILL "$run"
    fi
    wait "$run"
    code=$?
    run=
}

# clean_up: for a trap at the end; whatever is left is of this test
clean_up() {
    local pid
    for pid in ${run:-} ${witnesses[@]+"${witnesses[@]}"} ${pids[@]+"${pids[@]}"} ${others[@]+"${others[@]}"}; do
        kill -KILL "$pid" 2>/dev/null
    done
    rm -rf "$scratch"
}
scratch=$(mktemp -d)
trap clean_up EXIT
cd "$scratch" || exit 1
