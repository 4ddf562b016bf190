#!/bin/sh
# See that ADDRESS speaks TLS and answers nobody who has no certificate: curl gets as far as the end of its own handshake, and no HTTP status.
set -u
printed=$(curl --insecure --silent --show-error --noproxy '*' --max-time 10 --output answer --write-out '%{http_code} %{time_appconnect}' "https://$ADDRESS/")
code=$?
echo "curl: exit code $code, HTTP status and seconds until TLS: $printed"
case "$code $printed" in
0\ * | *\ 000\ 0.000000) echo "expected a refusal after the handshake, for want of a certificate" >&2; exit 1 ;;
*\ 000\ *) exit 0 ;;
*) exit 1 ;;
esac
