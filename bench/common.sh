# What the benches of MPI programs share; to be sourced, after 'bench' is set to their name.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
muster=${MUSTER:-$here/../build/bin/muster}

# need TOOL...: with the message that says what to install
need() {
    local tool
    for tool; do
        command -v "$tool" >/dev/null ||
            { echo "$bench: no $tool: apt-get install openmpi-bin libopenmpi-dev libpmix-dev mpich libmpich-dev" >&2; exit 1; }
    done
}

# whole NAME VALUE MIN MAX: or exit 2
whole() {
    [[ $2 =~ ^[0-9]{1,9}$ ]] && [ "$2" -ge "$3" ] && [ "$2" -le "$4" ] ||
        { echo "$bench: --$1 is '$2': it must be $3 to $4" >&2; exit 2; }
}

# die WHAT: with the last lines of what it said in $scratch/err
die() {
    echo "$bench: $1" >&2
    [ ! -s "$scratch/err" ] || tail -5 "$scratch/err" >&2
    exit 1
}

# figures FILE [COLUMN]: of its numbers, as the benches of muster have them: values that were measured (the nearest
# rank), but for the median of an even count, which is the mean of the middle two
figures() {
    awk -v column="${2:-1}" '{ print $column }' "$1" | sort -g | awk '
        function rank(share) { at = int(share * NR + 0.999999); return v[at < 1 ? 1 : at] }
        { v[NR] = $1 }
        END {
            if (NR == 0) { print "null"; exit }
            printf "{\"median\":%.3f,\"p10\":%.3f,\"p99\":%.3f,\"max\":%.3f}",
                (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2, rank(0.1), rank(0.99), v[NR] }'
}

# median FILE [COLUMN]
median() { figures "$@" | sed -n 's/.*"median":\([^,]*\),.*/\1/p'; }

# ratio A B
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.3f", a / b; else printf "null" }'; }

scratch=$(mktemp -d) || exit 1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$scratch"' EXIT
