#!/bin/sh
# Makes $PLACE/files, a directory for test files. With ENCRYPTION=gocryptfs it is a gocryptfs over $PLACE/cipher, under a key that was drawn for it and
# lies in the target's private work directory alone.
set -eu
umask 077

if [ -e "$PLACE" ]; then
    echo "$PLACE is there already, and somebody else's" >&2
    exit 1
fi
: >made # before it is: storage-down.sh removes nothing without it
mkdir -p "$PLACE/files"
[ "$ENCRYPTION" = gocryptfs ] || exit 0

mkdir "$PLACE/cipher"
head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' >key
gocryptfs -quiet -init -passfile key "$PLACE/cipher"
gocryptfs -quiet -nosyslog -passfile key "$PLACE/cipher" "$PLACE/files" >gocryptfs.log 2>&1
