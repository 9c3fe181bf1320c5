# What the tests of 'muster run' share.  To be sourced, in a folder of their own.
set -u
scratch=$(mktemp -d)
tag=muster-test-$$-$RANDOM # in the environment of all that is started here
# A child of this shell that is killed before it became something else would run it, too.
trap '[ $BASHPID -ne $$ ] || { end_strays; rm -rf "$scratch"; }' EXIT
cd "$scratch" || exit 1
failed=0

complain() {
    echo "FAIL: $*"
    [ ! -e out ] || head -5 out | cut -c 1-300 | sed 's/^/    out: /'
    [ ! -e err ] || head -8 err | cut -c 1-300 | sed 's/^/    err: /'
    failed=1
}

# run ARGUMENTS...: leaves its output in out and err, and the exit code in $code.  Standard input is the caller's.
run() {
    MUSTER_TEST=$tag timeout -k 5 60 "$MUSTER" run "$@" >out 2>err
    code=$?
}

# expect CODE WHAT
expect() {
    [ "$code" -eq "$1" ] || complain "exit $code instead of $1: $2"
}

# says TEXT...: each stands on standard error
says() {
    local text
    for text; do
        grep -qF -- "$text" err || complain "standard error does not say: $text"
    done
}

# until_true SECONDS COMMAND...: waits for it, at most so long
until_true() {
    local ends=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$ends" ] || return 1
        sleep 0.02
    done
}

# ours: process ids of everything that was started here and still runs
ours() { grep -lzsxF "MUSTER_TEST=$tag" /proc/[0-9]*/environ 2>/dev/null | cut -d / -f 3; }
none_of_ours() { [ -z "$(ours)" ]; }

end_strays() {
    local pid
    for pid in $(ours); do kill -KILL "$pid" 2>/dev/null; done
}

# gone PID...: none of them is there, except as a zombie
gone() {
    local pid
    for pid; do
        grep -qs '^State:[[:space:]]*[^Z]' "/proc/$pid/status" && return 1
    done
    return 0
}

# nothing_left SECONDS WHAT: no process, no socket of the machine in 'machine'
nothing_left() {
    until_true "$1" none_of_ours || complain "$2: still there: $(ours | xargs -r ps -o pid,args -p 2>/dev/null | tail -n +2)"
    if [ -s machine ] && grep -qF "@muster/$(id -u)/$(cat machine)/" /proc/net/unix; then
        complain "$2: a socket of the machine is still there"
    fi
}

finish() {
    [ $failed -eq 0 ] && echo "all as it should be"
    exit $failed
}
