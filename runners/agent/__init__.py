"""What runs programs at a place, whatever way leads there: detached jobs that run exactly once,
what belongs to them, and how all of it ends.

A place is reached through a :class:`~benchspec.runners.agent.door.Door`. What is done there is done
by the shell scripts beside these modules.
"""
