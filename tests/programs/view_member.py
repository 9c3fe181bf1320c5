"""A rank of the test of views: prints each view that it is told, and ends when the file named by its argument is there."""

import os
import sys

import muster

with muster.open() as job:
    while not os.path.exists(sys.argv[1]):
        event = job.next(0.05)
        if event is not None and event.type == muster.EventType.VIEW:
            view = job.view()
            assert view.number == event.view, (view, event)
            print(f"{job.node} view {view.number} nodes {' '.join(map(str, view.nodes))}", flush=True)
