#!/bin/sh
# Removes those of the directories that hold nothing any more, and a site's `ttl` and `began` with
# the last of what they are about
remove_empty() {
    for p; do
        [ ! -f "$p/ttl" ] || [ -e "$p/jobs" ] || [ -e "$p/allocations" ] || [ -e "$p/work" ] || [ -e "$p/overdue" ] || rm -f "$p/ttl" "$p/began"
        rmdir "$p" 2>/dev/null
    done
}
