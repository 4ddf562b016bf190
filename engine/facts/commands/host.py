"""The one source command of every host fact: a line of POSIX sh over /proc and /sys, run as an
ordinary user.

A command prints the value in the fact's unit (booleans as true or false) and nothing at all when it
cannot be known. ``$ROOT`` before a path is empty on a real host; tests let it point to another
machine's files. What only a system call can tell is asked only when ``$ROOT`` is empty. ``$DIR`` is
the directory whose disk is meant. Names, types, units and descriptions: schemas/facts.schema.json.
"""

from __future__ import annotations

from .cloud_metadata import METADATA_COMMANDS, metadata_probe
from .cvm import CVM_COMMANDS, CVM_PROBE

_CPU = '"$ROOT/sys/devices/system/cpu"'
_DMI = '"$ROOT/sys/class/dmi/id"'
_CPUINFO = '"$ROOT/proc/cpuinfo"'
_REAL = '[ -z "$ROOT" ] &&'

# the interface of the IPv4 default route, else of the IPv6 one
_INTERFACE = (
    """i=$({ awk '$2=="00000000" && $8=="00000000"{print $1}' "$ROOT/proc/net/route";"""
    """ awk '$1 ~ /^0+$/ && $2=="00" && $10!="lo"{print $10}' "$ROOT/proc/net/ipv6_route"; } 2>/dev/null | head -n 1); [ -n "$i" ] &&"""
)
# the mount that holds $DIR: the longest mount point that is a prefix of it, the last of equals
# (proc_pid_mountinfo(5))
_MOUNT = (
    """m=$(awk -v d="${DIR:-/}/" '{p=$5; if (p!="/") p=p "/"; if (index(d,p)==1 && length(p)>=n) {n=length(p); """
    """for (k=7; k<=NF && $k!="-"; k++); print $3, $(k+1), $(k+2), $6}}' "$ROOT/proc/self/mountinfo" | tail -n 1);"""
)
# of an encrypting file system, the device below it
_BELOW = f"""case $m in *" fuse."*crypt*|*" ecryptfs "*) DIR=$(echo "$m" | awk '{{print $3}}'); {_MOUNT} esac;"""
_MOUNT_DEVICE = _MOUNT + _BELOW + ' b="$ROOT/sys/dev/block/${m%% *}"; [ -e "$b" ] &&'
_QUEUE = (
    _MOUNT_DEVICE + ' q="$b/queue"; [ -d "$q" ] || q="$b/../queue";'
)  # a partition's queue is that of its disk


def _queue(name: str) -> str:
    return f'{_QUEUE} cat "$q/{name}"'


def _flag(path: str, *, true: str = "1", false: str = "0") -> str:
    return f'case $(cat "$ROOT{path}") in {true}) echo true;; {false}) echo false;; esac'


def _cpu_flag(name: str) -> str:
    # arm64 calls the line Features
    return (
        f'awk -F: \'/^(flags|Features)/{{print ((" " $2 " ") ~ / {name} /) ? "true" : "false";'
        f" exit}}' {_CPUINFO}"
    )


def _memory(name: str) -> str:
    return f"""awk '/^{name}:/{{printf "%.0f\\n", $2*1024}}' "$ROOT/proc/meminfo\""""


def _chosen(path: str) -> str:
    return f"""sed -n 's/.*\\[\\([^]]*\\)\\].*/\\1/p' "$ROOT{path}\""""


def _release(name: str) -> str:
    return f"""sed -n 's/^{name}=//p' "$ROOT/etc/os-release" | tr -d "\\"'\""""


def _file(path: str) -> str:
    return f'cat "$ROOT{path}"'


def _running(*names: str) -> str:
    """Which of these programs run, by the names that the kernel keeps of them (15 characters), or
    none.
    """
    return (
        f'[ -n "$RUNNING" ] && {{ p=$(echo "$RUNNING" | grep -xE \'{"|".join(names)}\' | paste -s'
        ' -d , -); echo "${p:-none}"; }'
    )


def _topology(expression: str) -> str:
    # one line per logical CPU: package and core
    return (
        f'for t in {_CPU}/cpu[0-9]*/topology; do [ -r "$t/core_id" ] && echo "$(cat'
        ' "$t/physical_package_id") $(cat "$t/core_id")"; done'
        " | awk '{n++; if (!s[$1]++) sockets++; if (!c[$0]++) cores++} END {if (n) print"
        f" {expression}}}'"
    )


def interface_facts(find: str) -> dict[str, str]:
    """The commands about one network interface by the fact's last word; ``find`` sets ``$i`` to its
    name or fails, and ends in ``&&``.
    """
    return {
        "mtu": f'{find} cat "$ROOT/sys/class/net/$i/mtu"',
        "speed": (
            f"""{find} awk '$1>0{{printf "%.0f\\n", $1*1000000}}' "$ROOT/sys/class/net/$i/speed\""""
        ),
        "driver": (
            f'{find} l=$(readlink "$ROOT/sys/class/net/$i/device/driver") && echo "${{l##*/}}"'
        ),
        "numa_node": (
            f'{find} n=$(cat "$ROOT/sys/class/net/$i/device/numa_node") && [ "$n" -ge 0 ] && echo'
            ' "$n"'
        ),
        "queues": (
            f'{find} n=$(ls -d "$ROOT/sys/class/net/$i"/queues/rx-* | wc -l) && [ "$n" -gt 0 ] &&'
            ' echo "$n"'
        ),
        "txqueuelen": f'{find} cat "$ROOT/sys/class/net/$i/tx_queue_len"',
        "offloads": (
            f'{_REAL} {find} o=$(ethtool -k "$i") && echo "$o" | awk -F: \'$1 ~'
            " /^(rx-checksumming|tx-checksumming|tcp-segmentation-offload|generic-segmentation-offload|generic-receive-offload|large-receive-offload)$/"
            ' && $2 ~ /^ on/{printf "%s%s", s, $1; s=","} END {if (!s) print "none"}\''
        ),
        "qdisc": f"{_REAL} {find} tc qdisc show dev \"$i\" root | awk '{{print $2; exit}}'",
    }


_GENERIC_PRODUCT = (
    "Virtual\\ Machine|Google*|KVM*|Standard\\"
    " PC*|VMware*|VirtualBox|OpenStack*|Alibaba*|HVM*|RHEV*|oVirt*|Bochs|*QEMU*|vServer|Droplet"
)

# UUIDs of device-mapper devices say who made them: CRYPT-LUKS2-..., CRYPT-PLAIN-... (cryptsetup)
_ENCRYPTION = (
    _MOUNT + " case $m in *' fuse.gocryptfs '*) echo gocryptfs;; *' fuse.encfs '*) echo encfs;; *'"
    " fuse.cryfs '*) echo cryfs;; *' ecryptfs '*) echo ecryptfs;; *) "
    + _MOUNT_DEVICE
    + ' case $(cat "$b/dm/uuid" "$b"/slaves/*/dm/uuid "$b"/slaves/*/slaves/*/dm/uuid'
    ' "$b"/slaves/*/slaves/*/slaves/*/dm/uuid) in *CRYPT-*) echo dm-crypt;; *) echo none;; esac;;'
    " esac"
)

_PROVIDER = (
    f"case $(cat {_DMI}/chassis_asset_tag)/$(cat {_DMI}/sys_vendor)/$(cat"
    f" {_DMI}/product_name)/$(cat {_DMI}/bios_vendor) in 7783-7084-3265-9085-8269-3286-77/*) echo"
    " azure;; */Amazon\\ EC2/*|*/Amazon\\ EC2) echo aws;; */Google/*|*/Google\\ Compute\\"
    " Engine/*) echo gcp;; OracleCloud.com/*) echo oracle;; */DigitalOcean/*) echo digitalocean;;"
    " */Hetzner/*) echo hetzner;; */Alibaba\\ Cloud/*) echo alibaba;; */Scaleway/*) echo"
    " scaleway;; */Exoscale/*) echo exoscale;; */OpenStack*) echo openstack;; esac"
)

DISK_FACTS: dict[str, str] = {
    "device": f"{_MOUNT} {_BELOW} echo \"$m\" | awk '{{print $3}}'",
    "filesystem": f"{_MOUNT} echo \"$m\" | awk '{{print $2}}'",
    "mount_options": f"{_MOUNT} echo \"$m\" | awk '{{print $4}}'",
    "size": f"""{_MOUNT_DEVICE} awk '{{printf "%.0f\\n", $1*512}}' "$b/size\"""",
    "free": f"""{_REAL} df -P -k "${{DIR:-/}}" | awk 'NR==2{{printf "%.0f\\n", $4*1024}}'""",
    "model": f'{_QUEUE} cat "$q/../device/model"',
    "scheduler": f"{_QUEUE} sed 's/.*\\[\\([^]]*\\)\\].*/\\1/' \"$q/scheduler\"",
    "rotational": f'{_QUEUE} case $(cat "$q/rotational") in 1) echo true;; 0) echo false;; esac',
    "write_cache": _queue("write_cache"),
    "block_size": _queue("logical_block_size"),
    "requests": _queue("nr_requests"),
    "encryption": _ENCRYPTION,
}
"""The commands about the disk of ``$DIR`` by the fact's last word."""

PROBES: dict[str, str] = {
    "RUNNING": '[ -r "$ROOT/proc/self/mountinfo" ] && cat "$ROOT"/proc/[0-9]*/comm | sort -u',
    "CVM": CVM_PROBE,
    "METADATA": metadata_probe(_PROVIDER),
}
"""Variables that several commands read, and the command that prints the value of each: it runs once
for all of them.
"""

COMMANDS: dict[str, str] = {
    "host.name": _file("/proc/sys/kernel/hostname"),
    "host.uptime": """awk '{print $1}' "$ROOT/proc/uptime\"""",
    "machine.id": (
        """[ -s "$ROOT/etc/machine-id" ] && { echo benchspec; cat "$ROOT/etc/machine-id"; } | sha256sum | cut -c 1-16"""
    ),
    "machine.vendor": f"cat {_DMI}/sys_vendor",
    "machine.product": f"cat {_DMI}/product_name",
    "machine.type": (
        f"p=$(cat {_DMI}/product_name); case $p in {_GENERIC_PRODUCT})"
        f' {METADATA_COMMANDS["type"]};; *) echo "$p";; esac'
    ),
    "machine.firmware": (
        'if [ -d "$ROOT/sys/firmware/efi" ]; then echo uefi; elif [ -d "$ROOT/sys/class/dmi/id" ];'
        " then echo bios; fi"
    ),
    "machine.bios_version": f"cat {_DMI}/bios_version",
    "cloud.provider": _PROVIDER,
    **{f"cloud.{word}": command for word, command in METADATA_COMMANDS.items() if word != "type"},
    "cpu.model": f"awk -F': *' '/^model name/{{print $2; exit}}' {_CPUINFO}",
    "cpu.vendor": f"awk -F': *' '/^vendor_id/{{print $2; exit}}' {_CPUINFO}",
    "cpu.microcode": f"awk -F': *' '/^microcode/{{print $2; exit}}' {_CPUINFO}",
    "cpu.count": f"grep -c '^processor' {_CPUINFO}",
    "cpu.online": f"cat {_CPU}/online",
    "cpu.isolated": (
        f'[ -r {_CPU}/isolated ] && {{ c=$(cat {_CPU}/isolated); echo "${{c:-none}}"; }}'
    ),
    "cpu.sockets": _topology("sockets"),
    "cpu.cores_per_socket": _topology("cores/sockets"),
    "cpu.threads_per_core": _topology("n/cores"),
    "cpu.numa_nodes": (
        'n=0; for d in "$ROOT"/sys/devices/system/node/node[0-9]*; do [ -d "$d" ] && n=$((n+1));'
        " done; [ $n -gt 0 ] && echo $n"
    ),
    "cpu.numa_cpus": (
        's=; for d in "$ROOT"/sys/devices/system/node/node[0-9]*; do [ -r "$d/cpulist" ] &&'
        ' printf \'%s%s=%s\' "$s" "${d##*/node}" "$(cat "$d/cpulist")" && s=\'; \'; done'
    ),
    "cpu.nohz_full": (
        f'[ -r {_CPU}/nohz_full ] && {{ c=$(cat {_CPU}/nohz_full); case $c in ""|*null*) echo'
        ' none;; *) echo "$c";; esac; }'
    ),
    "cpu.smt": _flag("/sys/devices/system/cpu/smt/active"),
    "cpu.cache_l3": (
        f"sed -n 's/K$/*1024/p' {_CPU}/cpu0/cache/index3/size | awk -F'*' '{{printf \"%.0f\\n\","
        " $1*$2}'"
    ),
    "cpu.frequency_max": (
        f"awk '{{printf \"%.0f\\n\", $1*1000}}' {_CPU}/cpu0/cpufreq/cpuinfo_max_freq"
    ),
    "cpu.frequency_driver": f"cat {_CPU}/cpu0/cpufreq/scaling_driver",
    "cpu.governor": f"cat {_CPU}/cpu[0-9]*/cpufreq/scaling_governor | sort -u | paste -s -d , -",
    "cpu.frequency_limit": (
        f"awk '{{printf \"%.0f\\n\", $1*1000}}' {_CPU}/cpu0/cpufreq/scaling_max_freq"
    ),
    "cpu.energy_preference": (
        f"cat {_CPU}/cpu[0-9]*/cpufreq/energy_performance_preference | sort -u | paste -s -d , -"
    ),
    "cpu.idle_driver": f"cat {_CPU}/cpuidle/current_driver",
    "cpu.turbo": (
        f"if [ -r {_CPU}/intel_pstate/no_turbo ]; then"
        f" {_flag('/sys/devices/system/cpu/intel_pstate/no_turbo', true='0', false='1')}; else"
        f" {_flag('/sys/devices/system/cpu/cpufreq/boost')}; fi"
    ),
    "cpu.throttled": (
        f"cat {_CPU}/cpu[0-9]*/thermal_throttle/core_throttle_count | awk '{{n+=$1}} END {{if (NR)"
        " print n}'"
    ),
    "cpu.hypervisor": _cpu_flag("hypervisor"),
    "cpu.aes": _cpu_flag("aes"),
    "cpu.avx2": _cpu_flag("avx2"),
    "cpu.avx512": _cpu_flag("avx512f"),
    "cpu.mitigations": (
        f's=; cd {_CPU}/vulnerabilities && for f in *; do read -r v <"$f"; case $v in \'Not'
        ' affected\') ;; *) printf \'%s%s=%s\' "$s" "$f" "$v"; s=\'; \';; esac; done && { [ -n'
        ' "$s" ] || echo none; }'
    ),
    "cpu.vulnerable": (
        f's=; cd {_CPU}/vulnerabilities && for f in *; do read -r v <"$f"; case $v in Vulnerable*)'
        ' printf \'%s%s\' "$s" "$f"; s=,;; esac; done && { [ -n "$s" ] || echo none; }'
    ),
    "cpu.steal": (
        """awk '/^cpu /{t=0; for (k=2; k<=9; k++) t+=$k; if (t) printf "%.6f\\n", $9/t}' "$ROOT/proc/stat\""""
    ),
    "load.1m": """awk '{print $1}' "$ROOT/proc/loadavg\"""",
    "memory.total": _memory("MemTotal"),
    "memory.available": _memory("MemAvailable"),
    "memory.swap": _memory("SwapTotal"),
    "memory.swappiness": _file("/proc/sys/vm/swappiness"),
    "memory.numa": (
        's=; for d in "$ROOT"/sys/devices/system/node/node[0-9]*; do [ -r "$d/meminfo" ] && printf'
        ' \'%s%s=%s\' "$s" "${d##*/node}" "$(awk'
        """ '/MemTotal:/{printf "%.0f", $4*1024}' "$d/meminfo")" && s='; '; done"""
    ),
    "memory.dirty_ratio": _file("/proc/sys/vm/dirty_ratio"),
    "memory.dirty_background_ratio": _file("/proc/sys/vm/dirty_background_ratio"),
    "memory.hugepages": """awk '/^HugePages_Total:/{print $2}' "$ROOT/proc/meminfo\"""",
    "memory.hugepage_size": _memory("Hugepagesize"),
    "memory.thp": _chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
    "memory.ksm": _flag("/sys/kernel/mm/ksm/run", false="0|2"),
    "kernel.release": _file("/proc/sys/kernel/osrelease"),
    "kernel.version": _file("/proc/sys/kernel/version"),
    "kernel.tainted": _file("/proc/sys/kernel/tainted"),
    "kernel.aslr": _file("/proc/sys/kernel/randomize_va_space"),
    "kernel.perf_event_paranoid": _file("/proc/sys/kernel/perf_event_paranoid"),
    "kernel.numa_balancing": _flag("/proc/sys/kernel/numa_balancing", true="[12]"),
    "kernel.nmi_watchdog": _flag("/proc/sys/kernel/nmi_watchdog"),
    "kernel.cgroup_version": (
        'if [ -e "$ROOT/sys/fs/cgroup/cgroup.controllers" ]; then echo 2; elif [ -d'
        ' "$ROOT/sys/fs/cgroup/cpu" ]; then echo 1; fi'
    ),
    "kernel.lockdown": _chosen("/sys/kernel/security/lockdown"),
    "os.name": _release("PRETTY_NAME"),
    "os.id": _release("ID"),
    "os.version": _release("VERSION_ID"),
    "os.arch": f'cat "$ROOT/proc/sys/kernel/arch" || {{ {_REAL} uname -m; }}',
    "boot.id": _file("/proc/sys/kernel/random/boot_id"),
    "boot.time": """awk '/^btime/{print $2}' "$ROOT/proc/stat\"""",
    "virt.kind": (
        f'case $(cat "$ROOT/sys/hypervisor/type")/$(cat {_DMI}/sys_vendor)/$(cat'
        f" {_DMI}/product_name)/$(cat"
        ' "$ROOT/sys/devices/system/clocksource/clocksource0/available_clocksource")/$(grep -cw'
        " hypervisor"
        f" {_CPUINFO}) in xen/*) echo xen;; */VMware*) echo vmware;; */innotek*|*/VirtualBox/*)"
        " echo virtualbox;;"
        " */Microsoft*/Virtual*|*hyperv_clock*) echo hyperv;;"
        " */QEMU/*|*/KVM/*|*/Google/*|*/Amazon*/[1-9]*|*kvm-clock*) echo kvm;; */0)"
        f" grep -q '^flags' {_CPUINFO} && echo none;; esac"
    ),
    "virt.container": (
        'if [ -r "$ROOT/run/systemd/container" ]; then cat "$ROOT/run/systemd/container"; elif [ -d'
        ' "$ROOT/var/run/secrets/kubernetes.io" ]; then echo kubernetes; elif [ -e'
        ' "$ROOT/run/.containerenv" ]; then echo podman; elif [ -e "$ROOT/.dockerenv" ]; then echo'
        ' docker; elif [ -e "$ROOT/proc/1/cgroup" ]; then echo none; fi'
    ),
    "virt.kvm_device": (
        'if [ -e "$ROOT/dev/kvm" ]; then echo true; elif [ -d "$ROOT/dev" ]; then echo false; fi'
    ),
    **CVM_COMMANDS,
    "net.interface": f'{_INTERFACE} echo "$i"',
    **{f"net.{name}": command for name, command in interface_facts(_INTERFACE).items()},
    "net.qdisc_default": _file("/proc/sys/net/core/default_qdisc"),
    "net.congestion_control": _file("/proc/sys/net/ipv4/tcp_congestion_control"),
    "net.rmem_max": _file("/proc/sys/net/core/rmem_max"),
    "net.wmem_max": _file("/proc/sys/net/core/wmem_max"),
    "net.tcp_rmem": "tr -s '\\t ' '  ' <\"$ROOT/proc/sys/net/ipv4/tcp_rmem\"",
    "net.tcp_wmem": "tr -s '\\t ' '  ' <\"$ROOT/proc/sys/net/ipv4/tcp_wmem\"",
    "net.somaxconn": _file("/proc/sys/net/core/somaxconn"),
    "net.max_backlog": _file("/proc/sys/net/core/netdev_max_backlog"),
    "net.busy_poll": _file("/proc/sys/net/core/busy_poll"),
    "net.mtu_probing": _file("/proc/sys/net/ipv4/tcp_mtu_probing"),
    "net.ipv6": (
        'if [ -s "$ROOT/proc/net/if_inet6" ]; then echo true; elif [ -d "$ROOT/proc/net" ]; then'
        " echo false; fi"
    ),
    **{f"disk.{name}": command for name, command in DISK_FACTS.items()},
    "clock.source": _file("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    "clock.synchronised": (
        f'if [ -e "$ROOT/run/systemd/timesync/synchronized" ]; then echo true; elif {_REAL} command'
        " -v chronyc >/dev/null; then chronyc -n tracking | awk -F': *' '/^Leap status/{print"
        f' ($2=="Not synchronised") ? "false" : "true"}}\'; elif {_REAL} command -v timedatectl'
        " >/dev/null; then case $(timedatectl show -p NTPSynchronized --value) in yes) echo true;;"
        " no) echo false;; esac; fi"
    ),
    "clock.daemon": _running("chronyd", "ntpd", "systemd-timesyn", "ptp4l", "phc2sys", "openntpd"),
    "service.irqbalance": (
        f"case $({_running('irqbalance')}) in irqbalance) echo true;; none) echo false;; esac"
    ),
    "tuned.profile": _file("/etc/tuned/active_profile"),
    "power.mains": (
        'for p in "$ROOT"/sys/class/power_supply/*; do [ "$(cat "$p/type")" = Mains ] || continue;'
        ' case $(cat "$p/online") in 1) echo true;; 0) echo false;; esac; break; done'
    ),
}
