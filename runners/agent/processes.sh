#!/bin/sh
# Finding and ending processes. A job's processes are those of its wrapper's session, and those
# that left it but carry its marks in their environment (proc(5): /proc/PID/stat fields 3, 5 and 6,
# /proc/PID/environ). Everything is read with the shell's builtins or `grep`, since a host may have
# no pgrep and its ps may be anyone's. Variables are global, as POSIX sh has no others.

# a pause of $1 s; a sleep without fractions is taken for whole seconds
nap() { sleep "$1" 2>/dev/null || sleep 1; }

# found = the living processes of session or group $1, but not those of $2
scan_session() {
    found=
    for p in /proc/[0-9]*; do
        { IFS= read -r line <"$p/stat"; } 2>/dev/null || continue
        set -- "$1" "$2" ${line##*)} # what precedes is the program's name, which may hold anything
        case $3 in [ZX]) continue ;; esac
        [ "$6" = "$1" ] || [ "$5" = "$1" ] || continue
        case " $2 " in *" ${p#/proc/} "*) ;; *) found="$found ${p#/proc/}" ;; esac
    done
}

# found = found + the living processes whose environment holds all of the marks $2 $3 ...
# (NAME=value), but not those of $1; one grep for each mark
scan_marks() {
    but=$1
    shift
    files=$(grep -lzsFx -e "$1" /proc/[0-9]*/environ)
    shift
    for mark; do [ -z "$files" ] || files=$(grep -lzsFx -e "$mark" $files); done
    for p in $files; do
        p=${p%/environ} p=${p#/proc/}
        case " $found $but " in *" $p "*) continue ;; esac
        runs "$p" && found="$found $p"
    done
}

# is there a process $1 that has not ended?
runs() {
    { IFS= read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
    case ${line##*) } in [ZX]*) return 1 ;; esac
}

# is $1 (pid) with start time $2 still the process it was, in this start of the host ($3)?
lives() {
    { read -r boot </proc/sys/kernel/random/boot_id; } 2>/dev/null
    [ "$boot" = "$3" ] || return 1
    { IFS= read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
    set -- "$2" ${line##*)}
    case $2 in [ZX]) return 1 ;; esac
    [ "${21}" = "$1" ]
}

# now = uptime in 1/100 s
uptime_now() { read -r now _ </proc/uptime; now=${now%.*}${now#*.}; }

# end whoever `look` finds, and whom it finds later (they fork): first kindly, then not.
# used = the last signal needed, found = who outlived it. Whoever was told already is not told
# again: a second SIGTERM may end what was closing down in order
end_all() {
    used=0 told=
    for signal in 15 9; do
        uptime_now
        [ "$signal" = 15 ] && late=$((now + 200)) || late=$((now + 1000))
        while look; [ -n "$found" ] && [ "$now" -lt "$late" ]; do
            used=$signal
            for p in $found; do
                case " $told " in *" $p.$signal "*) ;; *) kill -"$signal" "$p" 2>/dev/null; told="$told $p.$signal" ;; esac
            done
            nap 0.03
            uptime_now
        done
        [ -n "$found" ] || return 0
    done
}

# leader = pid, began = start time, boot_of = boot id of the wrapper that took the job in the
# directory $1; false if none did. The file is empty for a moment while it is written
read_leader() {
    tries=0
    until { read -r boot_of leader rest <"$1/pid"; } 2>/dev/null && { [ -n "$rest" ] || [ "$boot_of" = withdrawn ]; }; do
        [ -e "$1/pid" ] && [ "$tries" -lt 10 ] || return 1
        nap 0.02
        tries=$((tries + 1))
    done
    [ "$boot_of" != withdrawn ] || return 1
    set -- ${rest##*)}
    began=${20}
}
