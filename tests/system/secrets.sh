#!/bin/bash
# The machine's key is in the memory of daemons and launcher, where nobody else can read, and nowhere else.
set -u
. "$MUSTER_SOURCE/tests/system/by_hand.sh"
chmod 755 . # for nobody

# Root may read everything, so as root all is run, and looked at, as nobody, and as one more.  Nothing
# of this test's own environment goes along, where somebody may keep digits of their own.
as=(env -i "PATH=$PATH" "ASAN_OPTIONS=${ASAN_OPTIONS:-}" "UBSAN_OPTIONS=${UBSAN_OPTIONS:-}")
stranger=()
if [ "$(id -u)" -eq 0 ]; then
    as+=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    stranger=(setpriv --reuid=1 --regid=1 --clear-groups)
    if ! "${as[@]}" test -x "$musterd"; then
        echo "note: nobody cannot run $musterd: not tried, see the permissions of its folders"
        exit 0
    fi
else
    echo "note: not root, so what another user can read is not tried"
fi

# has_key FILE: the key is in it, in hexadecimal digits or as bytes
has_key() {
    grep -qaiF -f <(echo "$key") "$1" 2>/dev/null ||
        LC_ALL=C grep -qaP -f <(sed 's/../\\x&/g' <<<"$key") "$1" 2>/dev/null
}

# may_read PID FILE COMMAND...: COMMAND, which becomes somebody, can open a file of /proc/PID
may_read() {
    local file=/proc/$1/$2
    shift 2
    if [ "${file##*/}" = fd ]; then
        "$@" ls "$file" >/dev/null 2>&1
    else
        "$@" sh -c ': <"$1"' sh "$file" 2>/dev/null
    fi
}

# is_closed PID WHAT: neither another user nor its own can look into it; so no core file shows it, too
is_closed() {
    local file
    for file in environ mem maps fd; do
        ! may_read "$1" $file "${as[@]}" || complain "its own user can read $file of $2"
        [ ${#stranger[@]} -eq 0 ] && continue
        ! may_read "$1" $file "${stranger[@]}" || complain "another user can read $file of $2"
    done
}

# memory_of PID: what that process has written, on standard output
memory_of() {
    local range rights from to
    while read -r range rights _; do
        [[ $rights == rw* ]] || continue
        from=$((0x${range%-*} / 4096)) to=$((0x${range#*-} / 4096))
        dd if="/proc/$1/mem" bs=4096 skip=$from count=$((to - from)) status=none 2>/dev/null
    done <"/proc/$1/maps"
}

# ---- what is looked for would be found ----

key=$(head -c 4096 /dev/urandom | tr -dc 1-9b-f | head -c 64)
printf 'KEY=%s' "${key^^}" >planted
has_key planted || complain "a key in digits is not found"
printf "before$(sed 's/../\\x&/g' <<<"$key")after" >planted
has_key planted || complain "a key in bytes is not found"
tr 1-9 2-91 <<<"$key" >planted
! has_key planted || complain "another key is taken for this one"
"${as[@]}" sleep 300 &
others=($!)
wait_until 10 grep -qs sleep "/proc/${others[0]}/comm" || complain "no sleep to look at"
for file in environ maps fd; do
    may_read "${others[0]}" $file "${as[@]}" || complain "not even $file of a plain process can be read: this test is blind"
done
kill "${others[0]}"
others=()

# ---- a key that the test knows, since it plays the launcher ----

touch stamp
bring_up 2 "${as[@]}" || exit 1
ps axww -o args >ps
! has_key ps || complain "ps shows the key"
for pid in "${pids[@]}" "${witnesses[@]}"; do
    is_closed "$pid" "a daemon, or its witness"
    for file in "/proc/$pid"/{cmdline,environ} "/proc/$pid/fd"/*; do # root sees these, others have seen that they do not
        [ -f "$file" ] && [ -r "$file" ] || continue
        ! has_key "$file" || complain "the key is in $file, $(readlink "$file")"
    done
done
# A witness lives as long as its daemon, and needs the key once: it has one copy, in a place that is never swapped out.
if [ "$(id -u)" -eq 0 ] && [ "$MUSTER_SANITIZED" = 0 ]; then # sanitizers map terabytes
    for pid in "${witnesses[@]}"; do
        [ "$(memory_of "$pid" | LC_ALL=C grep -aoP -f <(sed 's/../\\x&/g' <<<"$key") | wc -l)" -eq 1 ] || complain "a witness has the key not once"
        [ "$(memory_of "$pid" | grep -aoiF -f <(echo "$key") | wc -l)" -eq 0 ] || complain "a witness has the key in digits"
        grep -q '^VmLck:.* [1-9][0-9]* kB' "/proc/$pid/status" || complain "a witness has no locked memory"
    done
fi
"${as[@]}" "$MUSTER" status --cluster "$machine" --json >status || complain "muster status: exit $?"
"${as[@]}" "$MUSTER" events --cluster "$machine" --json >events || complain "muster events: exit $?"
while IFS= read -r -d '' file; do
    ! has_key "$file" || complain "the key is in $file"
done < <(find . /tmp /dev/shm -xdev -type f -newer stamp -print0 2>/dev/null)
take_down

# ---- the real launcher, whose key nobody knows: it is 64 hexadecimal digits, or 32 bytes ----

start_job 2 4 "${as[@]}" || exit 1
"${as[@]}" "$MUSTER" status --cluster "$machine" --json >status || complain "muster status: exit $?"
daemons=$(sed 's/{"slot":/\n&/g' status | number pid)
[ "$(wc -w <<<"$daemons")" -eq 2 ] || complain "not two daemons: $(cat status)"
is_closed "$run" "the launcher"
for pid in $daemons; do is_closed "$pid" "a daemon"; done
for pid in "$run" $daemons $(for rank in 0 1 2 3; do pid_of $rank; done); do
    ps -ww -o args= -p "$pid" >seen || complain "process $pid is gone"
    [ -r "/proc/$pid/environ" ] && cat "/proc/$pid/environ" >>seen 2>/dev/null
    ! grep -qaE '[0-9a-fA-F]{64}' seen || complain "digits like a key are in arguments or environment of $(cat "/proc/$pid/comm")"
done
grep -qa MUSTER_SOCKET "/proc/$(pid_of 0)/environ" || complain "the environment of a process cannot be seen: this test is blind"
end_job
[ "$code" -eq 0 ] || complain "muster run: exit $code: $(cat run.err)"
! grep -raE '[0-9a-fA-F]{64}' . --exclude=planted || complain "the run left digits like a key in a file"

[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
