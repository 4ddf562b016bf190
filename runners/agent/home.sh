#!/bin/sh
# Prints the directory below which this user can make control groups, or nothing.

# shellcheck source=processes.sh
. "${0%/*}/processes.sh"
# shellcheck source=groups.sh
. "${0%/*}/groups.sh"

if find_home; then printf '%s\n' "$group_home"; fi
