#!/bin/bash
# The manual pages: every option that --help prints is in them, no other one is, and they format without a warning.
# There is a page for each family of commands; 'muster-status' is also that of kill and set.
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

# help_commands WORD...: the commands that a --help lists
help_commands() {
    "$MUSTER" "$@" --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'
}

# page_flags: of a part of a page on standard input, from lines like '.It Fl n Ar N , Fl \-nodes Ar K'
page_flags() {
    sed -n 's/\\//g; s/^\.It //p' | grep -oE 'Fl [^ ]+' | sed 's/^Fl /-/' | sort -u
}

# page_of COMMAND: the page of its family
page_of() {
    case $1 in
    kill | set) echo muster-status.1 ;;
    why | views) echo muster-events.1 ;;
    *) echo "muster-$1.1" ;;
    esac
}

# section PAGE TITLE: the lines of a .Ss of this title; of a page without sections, its options
section() {
    awk -v title=".Ss $2" '/^\.Ss/ { any = 1 } /^\.S[sh]/ { inside = $0 == title || ($0 == ".Sh OPTIONS" && !any) } inside' \
        "$pages/$1"
}

# compare WHAT HELP PAGE: two lists of flags
compare() {
    [ -n "$2" ] || complain "$1: --help shows no options"
    local missing surplus
    missing=$(comm -23 <(echo "$2") <(echo "$3") | tr '\n' ' ')
    surplus=$(comm -13 <(echo "$2") <(echo "$3") | tr '\n' ' ')
    [ -z "$missing" ] || complain "$1: not in the manual page: $missing"
    [ -z "$surplus" ] || complain "$1: only in the manual page: $surplus"
}

# Every command there is, by the lists that the program prints.
commands=()
for family in $(help_commands); do
    case $family in
    chaos | bench | sim) for command in $(help_commands "$family"); do commands+=("$family $command"); done ;;
    *) commands+=("$family") ;;
    esac
done
[ ${#commands[@]} -ge 29 ] || complain "the program lists ${#commands[@]} commands only"

for command in "${commands[@]}"; do
    read -ra words <<<"$command"
    page=$(page_of "${words[0]}")
    [ -f "$pages/$page" ] || complain "muster $command: there is no $page"
    compare "muster $command" "$("$MUSTER" "${words[@]}" --help | help_flags)" \
        "$(section "$page" "muster $command" | page_flags)"
    "$MUSTER" "${words[@]}" --help | grep -qx "See also: man muster-${words[0]}" || complain "muster $command --help does not name its page"
    grep -qw "Cm.* ${words[0]}\|Cm ${words[0]}" "$pages/muster.1" || complain "muster ${words[0]} is not in muster.1"
done
compare musterd "$("${MUSTER}d" --help | help_flags)" "$(page_flags <"$pages/musterd.8")"

# No page has a section of a command that is gone.
while read -r command; do
    [[ " ${commands[*]/%/,}" == *" $command,"* ]] || complain "the manual has 'muster $command'; the program does not"
done < <(sed -n 's/^\.Ss muster //p' "$pages"/muster*.1)

# So has every variable that a process gets.
variables=$(env -i PATH="$PATH" "$MUSTER" run -n 1 env | grep -o '^MUSTER_[A-Z_]*' | sort)
documented=$(sed -n 's/^\.It Ev //p' "$pages/muster-run.1" | sort)
different=$(comm -3 <(echo "$variables") <(echo "$documented") | tr '\n' ' ')
[ -n "$variables" ] || complain "a process of a job has no variables"
[ -z "$different" ] || complain "either a process has them or muster-run.1: $different"

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
