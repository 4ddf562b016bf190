"""The source commands of facts, one line of POSIX sh each."""
