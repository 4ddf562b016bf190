#!/bin/sh
# Removes what storage-up.sh made, also half of it, and nothing else.
set -eu

[ -e made ] || exit 0
if grep -q " $PLACE/files fuse.gocryptfs " /proc/self/mounts; then
    fusermount3 -u "$PLACE/files" || fusermount3 -u -z "$PLACE/files"
fi
rm -rf "$PLACE"
rmdir "${PLACE%/*}" 2>/dev/null || true # the other target's directory may be there
