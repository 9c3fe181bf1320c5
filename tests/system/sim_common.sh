# For tests of 'muster sim' that read one JSON object: sourced, in a scratch folder that is removed at the end.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0

complain() {
    echo "FAIL: $*"
    failed=1
}

# number FIELD FILE, word FIELD FILE: one field of a JSON object
number() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" "$2"; }
word() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$2"; }

# at_most FIELD BOUND FILE
at_most() {
    local value
    value=$(number "$1" "$3")
    [ -n "$value" ] && awk "BEGIN { exit !($value <= $2) }" || complain "$1 is '$value', at most $2 is allowed"
}
