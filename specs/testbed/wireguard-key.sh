#!/bin/sh
# Makes the host's private key, which never leaves it, and prints the public one.
set -eu
umask 077
mkdir -p /run/testbed-wireguard
wg genkey >/run/testbed-wireguard/key
wg pubkey </run/testbed-wireguard/key
