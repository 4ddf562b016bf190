"""From a host name to programs on that host: ssh_config, keys, one connection, its channels."""

from . import paramiko_import as paramiko_import  # before anything imports paramiko
