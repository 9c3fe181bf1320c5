#!/bin/bash
# alone
# timeout: 400
# Every example of the manual pages of 'muster' does what it shows, as it stands there.  What looks at a cluster or changes
# one gets a fresh one with four nodes, eight ranks, and node 2 killed; its id is put in, since others may run here.
. "$(dirname "$0")/run_common.sh"

PATH=$(dirname "$(realpath "$MUSTER")"):$PATH
for program in app leader worker; do
    printf '#!/bin/sh\nexec sleep 0.2\n' >"$program"
done
printf '#!/bin/sh\nshift\nexec "$@"\n' >agent # in place of ssh
chmod +x app leader worker agent
export MUSTER_AGENT=$PWD/agent

# begin_cluster: leaves its id in $id, and the launcher in $launcher
begin_cluster() {
    : >launched
    MUSTER_TEST=$tag muster run --nodes 4 -n 8 --on-failure continue --verbose sleep 100 >/dev/null 2>>launched </dev/null &
    launcher=$!
    until_true 20 grep -q 'rank 7 on node' launched || complain "no cluster: $(tail -3 launched)"
    id=$(sed -n 's/^muster: cluster \([0-9a-f]*\).*/\1/p' launched)
    muster chaos kill node=2 --cluster "$id" >out 2>err || complain "node 2 cannot be killed"
    until_true 20 knows_node_2 || complain "node 2 was killed, and is not known as failed"
}
knows_node_2() { muster why --cluster "$id" 2 >/dev/null 2>&1; }
end_cluster() {
    kill -INT "$launcher"
    wait "$launcher"
}

# may_end CODE COMMAND: 'events --follow' is ended by us, and 'tune' may find that nothing holds on a busy host.
may_end() {
    case $2 in
    *--follow*) [ "$1" -eq 124 ] ;;
    "muster tune"*) [ "$1" -le 1 ] ;;
    *) [ "$1" -eq 0 ] ;;
    esac
}

count=0
# try COMMAND: one example
try() {
    local command=$1 limit=150 on_cluster=1
    case $command in
    *--follow*) limit=2 ;;
    muster\ chaos\ random* | *chaos\ script* | muster\ run* | muster\ sim* | muster\ bench* | muster\ tune*) on_cluster=0 ;;
    esac
    if [ $on_cluster = 1 ]; then
        begin_cluster
        command="$command --cluster $id"
    fi
    MUSTER_TEST=$tag timeout -k 5 "$limit" bash -c "$command" >out 2>err </dev/null
    code=$?
    may_end $code "$1" || complain "exit $code: $1"
    [ -s out ] || [ -s err ] || [[ $1 == "muster run"* || $1 == "muster chaos"* || $1 == "muster kill"* ]] || complain "it prints nothing: $1"
    [ $on_cluster = 0 ] || end_cluster
    count=$((count + 1))
}

while read -r example; do
    try "$example"
done < <(sed -n 's/\\(aq/'"'"'/g; s/\\//g; s/^\.Dl \$ //p' "$MUSTER_SOURCE"/docs/man/muster*.1)
[ $count -ge 25 ] || complain "only $count examples were found"
until_true 5 none_of_ours || complain "something is left: $(ours | tr '\n' ' ')"
[ $failed = 0 ] && echo "ok: $count examples"
exit $failed
