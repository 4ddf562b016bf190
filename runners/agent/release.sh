#!/bin/sh
# $1 the site's directory, $2 the directory of its work directories, $3 allocation id, then the
# marks of its processes. Ends everybody and removes everything, then looks what is left: says
# "released", or "left" and what.

# shellcheck source=processes.sh
. "${0%/*}/processes.sh"
# shellcheck source=groups.sh
. "${0%/*}/groups.sh"
# shellcheck source=kept.sh
. "${0%/*}/kept.sh"
# shellcheck source=look.sh
. "${0%/*}/look.sh"

site=$1 work=$2 id=$3 jobs=$1/jobs allocations=$1/allocations
shift 3
marks=$*
mine= spans= gone= their=
[ ! -f "$allocations/sessions@$id" ] || gone=$(while read -r _ _ _ _ job; do printf '%s ' "$job"; done <"$allocations/sessions@$id")
for d in "$jobs"/*; do
    { read -r of <"$d/job"; } 2>/dev/null && [ "$of" = "$id" ] || continue
    mine="$mine ${d##*/}" their="$their $d"
    [ ! -e "$allocations/standing@$id" ] || read_spans "$d"
done
read_spans "$allocations/sessions@$id"
read_sessions $their
read_groups "$allocations/group@$id"
real=$(physical "$work") real_jobs=$(physical "$jobs")
below() {
    case $1 in
    "$real/$id" | "$real/$id"/*) return 0 ;;
    "$real_jobs"/*)
        set -- "${1#"$real_jobs"/}"
        case " $mine $gone " in *" ${1%%/*} "*) return 0 ;; esac ;;
    esac
    return 1
}
named() { grep -qF -e "$work/$id/" -e "$real/$id/"; }
end_all
for g in $groups; do remove_group "$g"; done
for j in $mine; do remove "$jobs/$j"; done
remove "$work/$id"
left=
[ -z "$found" ] || left=" processes$found"
for j in $mine; do [ ! -e "$jobs/$j" ] || left="$left $jobs/$j"; done
[ ! -e "$work/$id" ] || left="$left $work/$id"
[ -n "$left" ] || rm -f "$allocations"/*@"$id"
for p in "$allocations"/*@"$id"; do [ ! -e "$p" ] || left="$left $p"; done
[ -z "$left" ] && echo released || echo "left$left"
