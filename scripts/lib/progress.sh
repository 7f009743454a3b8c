# Long steps: a log gets their output, and the reader sees how far they are. common.sh sources it. It must not
# change what a command does.
# shellcheck shell=bash

# Seconds between two lines of progress where lines cannot be redrawn.
progress_interval=10

# step "what is done" command args...: prints one line with the time it took. The command's output goes to a
# log. If the command fails, the end of the log is shown. With AOTI_DBG_VERBOSE=1, the output is shown live.
#
# The command runs in the foreground, so Ctrl-C reaches it and its children. The watcher runs beside it and ends
# when its pipe closes, so it cannot outlive this shell.
step() {
    local title=$1 started=$SECONDS status=0 log watch watcher
    shift
    # shellcheck disable=SC2154 # logs is of common.sh
    mkdir -p "$logs"
    log=$logs/$(printf '%s' "$title" | tr -cs 'A-Za-z0-9._-' '-').log
    if [[ ${AOTI_DBG_VERBOSE:-0} == 1 ]]; then
        printf -- '-- %s ...\n' "$title"
        ("$@") </dev/null 2>&1 | tee "$log" || status=$?
    else
        : >"$log"
        exec {watch}> >(watch_step "$title" "$log")
        watcher=$!
        trap 'end_watch; say " interrupted"; trap - INT; kill -INT "$BASHPID"' INT
        (exec {watch}>&- && "$@") </dev/null >"$log" 2>&1 || status=$?
        end_watch
        trap - INT
    fi
    if ((status != 0)); then
        printf ' failed after %d s\n' $((SECONDS - started))
        [[ ${AOTI_DBG_VERBOSE:-0} == 1 ]] || tail -n 60 "$log" >&2
        printf 'error: "%s" failed with status %d. Full output: %s\n' "$title" "$status" "$log" >&2
        return "$status"
    fi
    printf ' %d s\n' $((SECONDS - started))
}

# Ends the watcher of `step`, whose variables it uses. The cursor is then behind the step's title.
end_watch() {
    exec {watch}>&-
    wait "$watcher" || true
}

# watch_step TITLE LOG: prints the progress until the end of its input. NO_COLOR and TERM=dumb request plain
# lines.
watch_step() {
    trap '' INT
    if [[ -t 1 && ${TERM:-dumb} != dumb && -z ${NO_COLOR:-} ]]; then
        redraw_progress "$@"
    else
        print_progress "$@"
    fi
}

redraw_progress() {
    local title=$1 log=$2 started=$SECONDS terminal _ columns
    exec {terminal}>&1
    while
        read -r _ columns < <(stty size <&"$terminal" 2>/dev/null) || columns=0
        printf '\r%s\e[K' "$(progress_bar "$((columns > 0 ? columns : 80))" "$title" "$((SECONDS - started))" "$(progress_in "$log")")"
        goes_on 0.5
    do :; done
    printf '\r\e[K-- %s ...' "$title"
}

print_progress() {
    local title=$1 log=$2 started=$SECONDS found printed=0
    printf -- '-- %s ...' "$title"
    while goes_on "$progress_interval"; do
        ((printed++)) || printf '\n'
        found=$(progress_in "$log")
        case $found in
            [0-9]*) printf '   %s: %s of %s, %d s\n' "$title" "${found%/*}" "${found#*/}" $((SECONDS - started)) ;;
            *) printf '   still running: %s, %d s%s\n' "$title" $((SECONDS - started)) "${found:+ ($found)}" ;;
        esac
    done
    ((printed == 0)) || printf -- '-- %s:' "$title"
}

# goes_on SECONDS: waits that long, unless the input ends first.
goes_on() {
    local status=0
    read -r -t "$1" || status=$?
    ((status > 128))
}

# progress_in LOG: prints the last `n/m` of ninja, or else what pip does. Prints nothing if neither wrote the log.
progress_in() {
    tail -c 8192 "$1" | sed -nE '
        s/^\[([0-9]+\/[0-9]+)\] .*/\1/p
        s/^ *Downloading ([^ ]+) \((.*)\)$/\1, \2/p
        s/^ *(Installing) collected packages.*/\1/p' | tail -n 1
}

# progress_bar COLUMNS TITLE SECONDS PROGRESS: prints one line that is shorter than the terminal is wide.
progress_bar() {
    local columns=$1 title=$2 seconds=$3 found=$4 line="-- $2" end filled width
    end="  $seconds s"
    if [[ $found =~ ^([0-9]+)/([0-9]+)$ && ${BASH_REMATCH[2]} != 0 ]]; then
        local done=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]} bar
        end=$(printf '%4d%%  %d/%d  %d s' $((100 * done / total)) "$done" "$total" "$seconds")
        width=$((columns - ${#line} - ${#end} - 5))
        width=$((width < 30 ? width : 30))
        if ((width >= 5)); then
            filled=$((width * done / total))
            printf -v bar '%*s' "$filled" ''
            printf -v bar '%-*s' "$width" "${bar// /#}"
            line+="  [${bar// /.}]"
        fi
    elif [[ -n $found ]]; then
        end+="  $found"
    fi
    # On a narrow terminal, the title is cut before the numbers.
    line=${line:0:$((columns - 1 > ${#end} ? columns - 1 - ${#end} : 0))}$end
    printf '%s' "${line:0:$((columns - 1))}"
}
