"""fio, a disk benchmark."""
