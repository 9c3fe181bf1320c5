#!/usr/bin/env python3
"""Prints each failure of its job, and ends when it is the only rank left.

    muster run --nodes 2 -n 4 --on-failure continue python3 listen.py
"""
import muster

with muster.open() as job:
    left = set(range(job.size))
    for event in job.events():
        if event.type == muster.EventType.PROCESS:
            left.discard(event.rank)
            print(f"rank {job.rank} hears: {event.text} ({event.age * 1000:.3f} ms ago)", flush=True)
        if left == {job.rank}:
            break
