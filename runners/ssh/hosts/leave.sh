#!/bin/sh
# $1 token of the session, then the run's directories, the innermost first. Jobs that the session
# took back are forgotten; then what is empty goes
# shellcheck source=empty.sh
. "${0%/*}/empty.sh"

token=$1
shift
for p; do
    case $p in */jobs)
        # shellcheck disable=SC2013
        for f in $(grep -l -s -x -F -e "withdrawn $token" "$p"/*/pid); do rm -rf "${f%/pid}"; done ;;
    esac
done
remove_empty "$@"
:
