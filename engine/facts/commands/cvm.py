"""What a guest sees of memory encryption, in levels: none, kernel (it says so), device (one for
attestation is there), report (one was fetched).

No level proves anything to somebody who does not trust the host: the kernel repeats what the
hypervisor told it, a device can be imitated, and a report counts only once its signature and
measurements have been verified against the vendor's certificates, which is not done here.

Peculiarities, by platform:

- KVM hosts, AWS and Google (SEV-SNP, TDX): ``/dev/sev-guest``, ``/dev/tdx_guest``; since Linux 6.7
  reports by configfs-tsm, since 6.11 ``/sys/devices/system/cpu/sev/vmpl``
  (https://docs.kernel.org/virt/coco/sev-guest.html, https://docs.kernel.org/arch/x86/tdx.html,
  Documentation/ABI/testing/configfs-tsm-report).
- Google's SEV without SNP: the kernel log alone.
- Azure: a paravisor hides the CPU's devices. The kernel logs Hyper-V's isolation type (the low four
  bits of group B: 2 SEV-SNP, 3 TDX; 1 is VBS, which encrypts nothing), calls the memory encryption
  plain SEV, and the report lies in the vTPM, NV index 0x01400001: a header of 32 B that begins with
  HCLA, 1184 B for the hardware's report, then sizes and the report's type (2 SEV-SNP, 4 TDX). It
  was made at the start of the VM. A vTPM by itself says nothing: Trusted Launch has one, too. The
  kernel's own line comes after the isolation type: without the beginning of the log it proves
  nothing here.
- Containers: the kernel's log and the CPU flags are the host's, /dev is not.
- Hosts: CPU flags such as sev_snp and lines of kvm_amd or ccp say what a host can offer its guests.
  Only the line "Memory Encryption Features active" is about the kernel itself, and SME in it is a
  host's.
"""

from __future__ import annotations

_CPUINFO = '"$ROOT/proc/cpuinfo"'
_LOG_LINES = "Linux version |Memory Encryption Features active:|Hyper-V: Isolation Config:"

# t technology, e evidence, b its basis, r report, u what could not be seen, l lines of the kernel
# log, j the journal's, g Hyper-V's isolation type
_PROBE = f"""
t= e= b= r= u=; n() {{ u="$u${{u:+, }}$1"; }};
k() {{ grep -E '{_LOG_LINES}'; }};
if [ -n "$ROOT" ]; then l=$(k <"$ROOT/var/log/dmesg"); else l=$(dmesg | k);
  case $l in *'Linux version '*) ;; *) j=$(timeout 1 journalctl -q -k -b -o cat | k); l=${{j:-$l}};; esac;
fi;
g=$(echo "$l" | sed -n 's/.*Isolation Config:.*Group B 0x[0-9a-f]*\\([0-9a-f]\\).*/\\1/p');
a=$(echo "$l" | sed -n 's/.*Memory Encryption Features active://p');
case $l in *'Linux version '*) ;; *) grep -qs Microsoft "$ROOT/sys/class/dmi/id/sys_vendor" && a=;; esac;
if [ -e "$ROOT/dev/sev-guest" ]; then t=sev-snp e=device b=/dev/sev-guest;
elif [ -e "$ROOT/dev/tdx_guest" ] || [ -e "$ROOT/dev/tdx-guest" ]; then t=tdx e=device b=/dev/tdx_guest;
elif [ -e "$ROOT/sys/devices/system/cpu/sev/vmpl" ]; then t=sev-snp e=kernel b=/sys/devices/system/cpu/sev/vmpl;
elif grep -qw tdx_guest {_CPUINFO}; then t=tdx e=kernel b='the CPU flag tdx_guest';
elif [ "$g" = 2 ] || [ "$g" = 3 ]; then e=kernel b='isolation type of Hyper-V in the kernel log';
  case $g in 2) t=sev-snp;; 3) t=tdx;; esac;
  [ -e "$ROOT/dev/tpmrm0" ] && e=device b='isolation type of Hyper-V in the kernel log, and a vTPM';
else case $a in *SEV-SNP*) t=sev-snp;; *SEV-ES*) t=sev-es;; *SEV*) t=sev;; *TDX*) t=tdx;; esac;
  if [ -n "$t" ]; then e=kernel b='the kernel log';
  elif ! grep -qw hypervisor {_CPUINFO} && grep -q '^flags' {_CPUINFO}; then t=none e=none b='no hypervisor below';
  else case $l in *'Linux version '*) t=none e=none b='the kernel log, which says nothing of it';; *) n 'kernel log (not readable or cut)';; esac;
  fi;
fi;
if [ "$e" = kernel ] || [ -z "$t" ]; then
  if [ -e "$ROOT/.dockerenv" ] || [ -e "$ROOT/run/.containerenv" ] || [ -r "$ROOT/run/systemd/container" ] ||
  [ -d "$ROOT/var/run/secrets/kubernetes.io" ] || grep -q ' / / [^-]* - overlay ' "$ROOT/proc/self/mountinfo"; then
    n 'device (a container has a /dev of its own)';
  fi;
fi;
c="$ROOT/sys/kernel/config/tsm/report"; x="$c/benchspec-$$";
if [ -d "$c" ] && [ "$t" != none ]; then
  if [ ! -w "$c" ]; then n 'report (needs root)';
  elif rmdir "$c"/benchspec-*; mkdir "$x"; then
    trap 'rmdir "$x"' EXIT; trap 'exit 1' HUP INT TERM;
    dd if=/dev/urandom bs=64 count=1 of="$x/inblob" && r=$(timeout 2 sha256sum "$x/outblob") && [ -s "$x/outblob" ] && r=${{r%% *}} || r=;
    if [ -n "$r" ]; then e=report b='a report of configfs-tsm'; case $(cat "$x/provider") in sev*) t=sev-snp;; tdx*) t=tdx;; esac; fi;
    rmdir "$x"; trap - EXIT HUP INT TERM;
  fi;
elif [ -e "$ROOT/dev/tpmrm0" ] && [ "$t" != none ]; then
  v() {{ TPM2TOOLS_TCTI="${{TPM2TOOLS_TCTI:-device:$ROOT/dev/tpmrm0}}" timeout 2 tpm2_nvread -C o 0x01400001; }};
  if ! command -v tpm2_nvread >/dev/null; then n 'report in the vTPM (needs tpm2-tools)';
  elif [ ! -w "$ROOT/dev/tpmrm0" ]; then n 'report in the vTPM (needs root)';
  else y=$(v | od -An -v -tx1 -N 1228 | tr -d ' \\n');
    case $y in 48434c41*) case $(echo "$y" | cut -c 2449-2456) in 02000000) t=sev-snp;; 04000000) t=tdx;; *) y=;; esac;; *) y=;; esac;
    [ -n "$y" ] && r=$(v | sha256sum) && r=${{r%% *}} e=report b='the report in the vTPM';
  fi;
elif [ "$e" = device ] || [ "$e" = kernel ]; then n 'report (no configfs-tsm, which comes with Linux 6.7)';
fi;
[ -r {_CPUINFO} ] && echo "technology $t" && echo "evidence $e" && echo "basis $b" && echo "unseen ${{u:-none}}" && [ -n "$r" ] && echo "report $r"
"""

CVM_PROBE = " ".join(line.strip() for line in _PROBE.splitlines() if line)
"""Prints a line for each fact: its last word, and its value."""


CVM_COMMANDS: dict[str, str] = {
    f"cvm.{word}": f"echo \"$CVM\" | sed -n 's/^{word} //p'"
    for word in ("technology", "evidence", "basis", "unseen", "report")
}
"""``$CVM`` is what CVM_PROBE printed: they share it, so that one report is fetched and not five."""
