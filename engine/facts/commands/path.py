"""The one source command of every fact about the path from a node to a peer: POSIX sh as in
host.py, ``$PEER`` is the peer's address.

They ask ``ip route get`` (iproute2), which answers for the very traffic that is measured, whatever
the default route is. The MTU is measured, not read: ``ping -M do`` (iputils; busybox has nothing
like it) forbids everyone on the way to divide packets.
"""

from __future__ import annotations

from .host import interface_facts

# the address: a name is looked up as the programs that measure would
_ADDRESS = (
    "a=$PEER; case $a in *:*) ;; *[!0-9.]*) a=$(getent ahosts \"$PEER\" | awk '{print $1; exit}');;"
    ' esac; [ -n "$a" ] &&'
)
_ROUTE = _ADDRESS + ' r=$(ip -o route get "$a") && [ -n "$r" ] &&'
_TOWARDS = _ROUTE + """ i=$(echo "$r" | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p') && [ -n "$i" ] &&"""

# Packets are as long as their payload and the headers of IP and ICMP: 20 + 8 bytes, with IPv6 40 +
# 8. The smallest packet that every link takes is
# 68 bytes long (RFC 791), with IPv6 1280 (RFC 8200). Each size is tried up to five times within a
# second, so that a lost packet is not taken for a large one (and the first again: neighbours may
# have to be found). A refusal that names the MTU (RFC 1191, RFC 8201) is tried next; where large
# packets vanish silently the interval is halved.
_REFUSED = """m=$(echo "$s" | sed -n 's/.*mtu *[=:] *\\([0-9]*\\).*/\\1/p' | head -n 1)"""
_MTU = (
    f'{_TOWARDS} h=$(cat "/sys/class/net/$i/mtu") && {{ [ "$h" -le 65535 ] || h=65535; case $a in'
    " *:*) f=-6 o=48 l=1280;; *) f=-4 o=28 l=68;; esac; p() { s=$(ping $f -n -c 1 -w 1 -i 0.2 -M"
    ' do -s $(($1-o)) "$a" 2>&1); }; n=$h; { p $l || p $l; } && { while [ $l -lt $h ]; do if p'
    f' $n; then l=$n; [ "$n" = "$m" ] && h=$n; else h=$((n-1)) {_REFUSED}; fi; n=$(((l+h+1)/2)); ['
    ' "${m:-0}" -gt $l ] && [ "$m" -le $h ] && n=$m; done; echo $l; }; }'
)

PATH_COMMANDS: dict[str, str] = {
    "path.interface": f'{_TOWARDS} echo "$i"',
    "path.kind": (
        f'{_TOWARDS} d="/sys/class/net/$i" && k=$(sed -n \'s/^DEVTYPE=//p\' "$d/uevent") && if ['
        ' "$i" = lo ]; then echo loopback; elif [ -n "$k" ]; then echo "$k"; elif [ -e'
        ' "$d/tun_flags" ]; then echo tun; elif [ -e "$d/device" ]; then echo device; else echo'
        " virtual; fi"
    ),
    "path.routed": f'{_ROUTE} case $r in *" via "*) echo true;; *) echo false;; esac',
    **{
        f"path.{name}": command
        for name, command in interface_facts(_TOWARDS).items()
        if name != "mtu"
    },
    "path.link_mtu": interface_facts(_TOWARDS)["mtu"],
    "path.mtu": _MTU,
}
