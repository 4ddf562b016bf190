#!/bin/sh
# How it is with a job whose wait ended without rc. Says: gone, ended, running (it was still on its
# way), full (rc took no bytes), or lost.
# shellcheck source=processes.sh
. "${0%/*}/processes.sh"

cd "$1/$2" 2>/dev/null || { echo gone; exit 0; }
if [ ! -s rc ] && read_leader . && lives "$leader" "$began" "$boot_of"; then nap 0.05; echo running; exit 0; fi
if [ -s rc ]; then echo ended; elif [ -e rc ] || [ ! -e pid ]; then echo full; else echo lost; fi
