#!/bin/sh
# The first process of a host: gives it a root of its own, waits for its link, starts sshd, and reaps what the host's programs leave.
# Called by tests/hosts/bed.py in fresh mount, PID, UTS, IPC and network namespaces: init.sh MARK FILES SIZE. FILES holds what only this host has
# (etc, home, root). Prints its PID as the controller sees it, then "ready"; in between it reads one line from stdin: the link is there.
set -eu
files=$2 size=$3

read -r pid _ </proc/self/stat
echo "$pid"

# A root that shares the controller's programs and nothing else: an overlay whose upper side is memory and goes with the namespace.
mount -t tmpfs -o "mode=755,size=$size" host "$files"/mnt
cd "$files"/mnt
mkdir upper work root upper/etc upper/var
for entry in /* /.[!.]*; do
    case "$entry" in
    /bin | /lib | /lib32 | /lib64 | /libx32 | /sbin | /usr | /etc | /var | /opt) ;;
    *) [ ! -e "$entry" ] || mknod "upper$entry" c 0 0 ;; # how overlayfs says that a name is not there
    esac
done
mknod upper/var/tmp c 0 0
mount -t overlay -o lowerdir=/,upperdir=upper,workdir=work host root
cd root
mkdir proc sys dev run home root tmp mnt srv var/tmp old
chmod 1777 tmp var/tmp
chmod 700 root
cp -a "$files"/etc "$files"/home "$files"/root .

mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup
mount -t tmpfs -o mode=755,size=1m dev dev
cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty dev
[ ! -e /dev/fuse ] || cp -a /dev/fuse dev
[ ! -e /dev/net/tun ] || { mkdir dev/net && cp -a /dev/net/tun dev/net; }
ln -s /proc/self/fd dev/fd
ln -s pts/ptmx dev/ptmx
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
mount -t tmpfs -o mode=1777 shm dev/shm
mount --bind etc/boot-id proc/sys/kernel/random/boot_id
pivot_root . old
cd /
umount -l /old
rmdir /old
mkdir -p /run/lock /run/sshd
chmod 1777 /run/lock
hostname "$(cat /etc/hostname)"

read -r _
sh /etc/bed-network
/usr/sbin/sshd
until [ -s /run/sshd.pid ]; do sleep 0.01; done
echo ready
exec </dev/null >/dev/null 2>&1
while :; do # waiting reaps the orphans
    sleep 3600 &
    wait $!
done
