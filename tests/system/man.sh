#!/bin/bash
# The manual pages: every flag that --help prints is in them, no other one is, and they format without a warning.
set -u
pages=$MUSTER_SOURCE/docs/man
failures=0
complain() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# help_flags: of a --help on standard input, one per line; "-n, -np N" are two.
help_flags() {
    sed -nE 's/^  (-[^ ,]+(, -[^ ,]+)*)( .*)?$/\1/p' | tr -d , | tr ' ' '\n' | sort -u
}

# page_flags: of a part of a page on standard input, from lines like '.It Fl n Ar N , Fl \-nodes Ar K'
page_flags() {
    sed -n 's/\\//g; s/^\.It //p' | grep -oE 'Fl [^ ]+' | sed 's/^Fl /-/' | sort -u
}

# section PAGE TITLE: the lines of a .Ss that begins with this title
section() {
    awk -v title=".Ss $2" '/^\.S[sh]/ { inside = index($0 " ", title " ") == 1 } inside' "$pages/$1"
}

# compare WHAT HELP PAGE: two lists of flags
compare() {
    [ -n "$2" ] || complain "$1: --help shows no flags"
    local missing surplus
    missing=$(comm -23 <(echo "$2") <(echo "$3") | tr '\n' ' ')
    surplus=$(comm -13 <(echo "$2") <(echo "$3") | tr '\n' ' ')
    [ -z "$missing" ] || complain "$1: not in the manual page: $missing"
    [ -z "$surplus" ] || complain "$1: only in the manual page: $surplus"
}

commands=("run" "status" "events" "why" "kill" "set" "chaos kill" "chaos stop" "chaos cont"
    "chaos cut" "chaos heal" "chaos flap" "chaos slow" "chaos script" "chaos random" "tune" "bench procfail" "bench floor"
    "bench nodefail" "bench accuracy" "bench noise"
    "sim spread" "sim ring" "sim central" "sim agree" "sim check" "sim explore" "sim mutants" "sim replay")
for command in "${commands[@]}"; do
    read -ra words <<<"$command"
    compare "muster $command" "$("$MUSTER" "${words[@]}" --help | help_flags)" \
        "$(section muster.1 "muster $command" | page_flags)"
done
compare musterd "$("${MUSTER}d" --help | help_flags)" "$(page_flags <"$pages/musterd.8")"

# Every command there is has a place in the page; so has every variable that a process gets.
for command in $("$MUSTER" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    grep -q "^\.Ss muster $command" "$pages/muster.1" || complain "muster $command is not in muster.1"
done
variables=$(env -i PATH="$PATH" "$MUSTER" run -n 1 env | grep -o '^MUSTER_[A-Z_]*' | sort)
documented=$(sed -n 's/^\.It Ev //p' "$pages/muster.1" | sort)
different=$(comm -3 <(echo "$variables") <(echo "$documented") | tr '\n' ' ')
[ -n "$variables" ] || complain "a process of a job has no variables"
[ -z "$different" ] || complain "either a process has them or muster.1: $different"

if command -v groff >/dev/null; then
    for page in "$pages"/*.[1-8]; do
        warnings=$(groff -mdoc -Tutf8 -ww -z "$page" 2>&1)
        [ -z "$warnings" ] || complain "$page: $warnings"
    done
    formatted="format without warnings"
else
    formatted="were not formatted: groff is not installed"
fi
[ $failures = 0 ] || exit 1
echo "ok: ${#commands[@]} commands are in the manual; the pages $formatted"
