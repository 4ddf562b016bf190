#!/bin/sh
# Finding the processes that a run started and that lost its marks, by what they keep, where there
# is no control group to ask.
#
# A daemon that writes its title over its environment (nginx, redis-server), or was started with an
# empty one, carries no marks. It is a run's if
# - a process of the run is its parent,
# - or it has been in the session or group of a lasting job since before that job ended. While a
#   session or group has members, the kernel gives its number to nobody else, so a process that
#   began before then can be of no other session of that number.
# - or it works in a directory of the run, is a program out of it or has a file of it open; or its
#   command line names such a directory and it listens.
# Since a user may look at a run's directories, too, the last counts only for a process that began
# no earlier than the run did here, has no terminal, is in a session that nobody else's process
# leads, and whose parent is the host's first process, or another that takes in orphans. A shell, an
# editor, or what they start has a terminal or another parent; so have the scripts that a connection
# carries out.
#
# Formats: proc(5); /proc/PID/net/tcp in the kernel's documentation (proc_net_tcp). `ls -l` is the
# one way to read a link that every host has. Follows processes.sh; who includes this has the
# functions `below`, which tells whether the path $1 is in one of the run's directories, and
# `named`, whether the words it reads name one.

# found = found + the living processes known by what they keep. $1 is the site's directory, spans
# the sessions of lasting jobs
scan_kept() {
    since=0 above=
    if { read -r boot_of began over <"$1/began" && read -r boot </proc/sys/kernel/random/boot_id; } 2>/dev/null && [ "$boot_of" = "$boot" ]; then
        since=$began above=$over
    fi
    # pid, parent, group, session, terminal and start of those that began no earlier; one may
    # vanish meanwhile
    rows=$(cat /proc/[0-9]*/stat 2>/dev/null | awk -v since="$since" '{
        pid = $1
        sub(/.*\) /, "")
        if (NF > 19 && $1 !~ /[ZX]/ && $20 + 0 >= since + 0) print pid, $2, $3, $4, $5, $20
    }')
    looking= looked=
    read -r up _ </proc/self/stat
    while [ "${up:-0}" -gt 0 ]; do
        looking="$looking $up"
        { IFS= read -r line <"/proc/$up/stat"; } 2>/dev/null || break
        set -- ${line##*)}
        up=$2
    done
    more=yes
    while [ -n "$more" ]; do
        more=
        set -- $rows
        while [ "$#" -gt 5 ]; do
            case " $found $looking " in *" $1 "*) ;; *) if is_ours "$@"; then found="$found $1" more=yes; fi ;; esac
            shift 6
        done
    done
}

# the directory $1 as the kernel names it
physical() { (cd "$1" 2>/dev/null && pwd -P) || printf '%s\n' "$1"; }

# $1 pid, $2 parent, $3 group, $4 session, $5 terminal, $6 start
is_ours() {
    case " $found " in *" $2 "*) return 0 ;; esac
    in_span "$3" "$4" "$6" && return 0
    case " $looked " in *" $1 "*) return 1 ;; esac
    [ "$5" = 0 ] || return 1
    case " 1 $above " in *" $2 "*) ;; *) return 1 ;; esac
    case " $found $1 " in *" $4 "*) ;; *) if runs "$4"; then return 1; fi ;; esac
    looked="$looked $1"
    [ -n "$(links "$1" | while IFS= read -r link; do below "${link% (deleted)}" && echo yes && break; done)" ] && return 0
    { tr '\000' '\n' <"/proc/$1/cmdline"; } 2>/dev/null | named && [ -n "$(listens_itself "$1")" ]
}

# spans: leader, its start and the end of the job, of every one; $1 group, $2 session, $3 start
in_span() {
    group=$1 session=$2 start=$3
    set -- $spans
    while [ "$#" -gt 2 ]; do
        if [ "$1" = "$group" ] || [ "$1" = "$session" ]; then [ "$start" -ge "$2" ] && [ "$start" -le "$3" ] && return 0; fi
        shift 3
    done
    return 1
}

# where the process $1 works, its program and its open files
# shellcheck disable=SC2012
links() { ls -ln "/proc/$1/cwd" "/proc/$1/exe" "/proc/$1/fd/"* 2>/dev/null | sed -n 's/^[^>]* -> //p'; }

# says so if the process $1 has a socket that listens (TCP), or is bound and not connected (UDP)
listens_itself() {
    inodes=$(cat "/proc/$1/net/tcp" "/proc/$1/net/tcp6" "/proc/$1/net/udp" "/proc/$1/net/udp6" 2>/dev/null \
        | awk '$4 == "0A" || $4 == "07" { printf " %s ", $10 }')
    links "$1" | while IFS= read -r link; do
        case $link in socket:*)
            link=${link#*\[}
            case $inodes in *" ${link%]} "*) echo yes; break ;; esac ;;
        esac
    done
}

# spans = spans + what the files $1 ... say of sessions, and what is in the directories of jobs
# among them
read_spans() {
    { read -r boot </proc/sys/kernel/random/boot_id; } 2>/dev/null
    for at; do
        if [ -d "$at" ]; then add_span "$(span "$at")"; continue; fi
        [ -f "$at" ] || continue
        while IFS= read -r noted; do add_span "$noted"; done <"$at"
    done
}

# $1 what `span` says
add_span() {
    set -- $1
    [ "$1" = "$boot" ] && case $4 in "" | *[!0-9]*) ;; *) spans="$spans $2 $3 $4" ;; esac
}

# boot id, leader and its start, and when the program ended (1/100 s of the uptime, as the starts
# of processes are) of the ended job in the directory $1, and its id; nothing of others
span() {
    { read -r _ _ _ _ till <"$1/rc"; } 2>/dev/null && read_leader "$1" && echo "$boot_of $leader $began $till ${1##*/}"
}
