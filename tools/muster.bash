# Bash completion of muster(1).  Commands and options come from --help, so that they are never out of date.
_muster_words() { # PATH...: the commands or options that the help of it lists
    "$@" --help 2>/dev/null | sed -nE 's/^  (-[^ ,]+(, -[^ ,]+)*)( .*)?$/\1/p; /^commands:/,/^$/s/^  ([a-z-]+) .*/\1/p' | tr -d ','
}

_muster() {
    local word=${COMP_WORDS[COMP_CWORD]} muster=${COMP_WORDS[0]} path=() i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -*) break ;;
        help) continue ;;
        *) path+=("${COMP_WORDS[i]}") ;;
        esac
        case ${path[0]} in chaos | sim | bench) [ ${#path[@]} -lt 2 ] || break ;; *) break ;; esac
    done
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --on-failure) mapfile -t COMPREPLY < <(compgen -W "abort continue" -- "$word"); return ;;
    --map-by) mapfile -t COMPREPLY < <(compgen -W "slot node" -- "$word"); return ;;
    --bind-to) mapfile -t COMPREPLY < <(compgen -W "none core" -- "$word"); return ;;
    --cluster) mapfile -t COMPREPLY < <(compgen -W "$(sed -nE 's,^.*@muster/[0-9]+/([0-9a-f]{8})[0-9a-f]{8}/.*,\1,p' /proc/net/unix | sort -u)" -- "$word"); return ;;
    esac
    if [ ${#path[@]} -eq 0 ] || [[ $word == -* ]] || { [ ${#path[@]} -eq 1 ] && [[ ${path[0]} =~ ^(chaos|sim|bench)$ ]]; }; then
        mapfile -t COMPREPLY < <(compgen -W "$(_muster_words "$muster" "${path[@]}") $([ ${#path[@]} -gt 0 ] || echo help --version)" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word") # programs and files
    fi
}
complete -o filenames -F _muster muster
