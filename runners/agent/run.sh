#!/bin/sh
# $1 run id, $2 site, $3 the site's directory (nothing: that of this user below /var/tmp), $4 the
# directory in which work directories are made, or nothing. Sets site and work, and what `look`
# needs to find the run's processes on this site. Follows processes.sh.

# shellcheck source=groups.sh
. "${0%/*}/groups.sh"
# shellcheck source=kept.sh
. "${0%/*}/kept.sh"
# shellcheck source=look.sh
. "${0%/*}/look.sh"

run=$1
site=${3:-/var/tmp/benchspec-$(id -u)/$1/$2}
work=$site/work
[ -z "$4" ] || work=$4/benchspec-$1/$2
marks="BENCHSPEC_RUN=$1 BENCHSPEC_SITE=$2" spans=
read_sessions "$site"/jobs/*
read_spans "$site"/jobs/* "$site"/allocations/sessions@*
read_groups "$site"/allocations/group@*
real=$(physical "$work") real_site=$(physical "$site")
below() {
    case $1 in "$real" | "$real"/* | "$real_site" | "$real_site"/*) return 0 ;; esac
    return 1
}
named() { grep -qF -e "$work/" -e "$real/" -e "$site/" -e "$real_site/"; }
