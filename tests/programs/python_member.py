"""A rank of the test of the Python package: python_member.py WAY.  Prints what it finds; any exception fails the job."""

import asyncio
import os
import signal
import sys
import threading

import muster

VICTIM = 2


def until_victim(job, events):
    for event in events:
        if event.type == muster.EventType.PROCESS and event.rank == VICTIM:
            return event
    raise AssertionError("unreachable")


def say_event(job, event):
    print(f"{job.rank}: rank {event.rank} {muster.Verdict(event.verdict).name} signal {event.signal} "
          f"code {event.exit_code} failure {event.is_failure} age {0 <= event.age < 30}", flush=True)


def events(job):
    """The victim dies after all have joined; the others read of it."""
    job.all.barrier()
    if job.rank == VICTIM:
        os.kill(os.getpid(), signal.SIGKILL)
    say_event(job, until_victim(job, job.events()))


def stream(job):
    """The same in asyncio, beside another task that has its turns."""

    async def main():
        turns = 0

        async def count():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0.01)

        counter = asyncio.create_task(count())
        await job.all.agree_async()
        if job.rank == VICTIM:
            os.kill(os.getpid(), signal.SIGKILL)
        async for event in job.stream():
            if event.type == muster.EventType.PROCESS and event.rank == VICTIM:
                say_event(job, event)
                break
        await asyncio.sleep(0.05)
        counter.cancel()
        assert turns > 1

    asyncio.run(main())


def agree(job):
    """AND of the bits; a failure is decided, acknowledged, and shrunk away."""
    decided = job.all.agree(0b111 & ~(1 << job.rank))
    assert decided == muster.Agreement(0 if job.size > 2 else 0b100, False), decided
    if job.rank == VICTIM:
        os.kill(os.getpid(), signal.SIGKILL)
    while not job.all.agree().has_failures:
        pass
    assert job.all.failed() == [VICTIM]
    job.all.acknowledge()
    while not job.all.barrier():
        job.all.acknowledge()
    everybody = [rank for rank in range(job.size) if rank != VICTIM]
    with_group = job.group(everybody)
    assert with_group.ranks() == everybody and len(with_group) == len(everybody)
    assert with_group.index(VICTIM) is None and with_group.index(job.rank) == everybody.index(job.rank)
    with_group.start(1)
    assert with_group.wait(30.0).bits == 1
    with_group.close()
    job.all.shrink()
    assert job.all.ranks() == everybody
    print(f"{job.rank}: agreed", flush=True)
    job.all.barrier()


def misuse(job):
    """What goes wrong has a code and a sentence."""
    job.all.start()
    try:
        job.all.start()
    except muster.Error as error:
        assert error.code == muster.Code.INVALID and error.text, error
        print(f"{job.rank}: invalid", flush=True)
    job.all.wait()
    while job.next(0) is not None:
        pass
    job.close()
    job.close()


def interrupt(job):
    """A signal handler of Python's runs while it waits, and may raise."""
    while job.next(0.0) is not None:
        pass
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        for _ in job.events():
            pass
    except KeyboardInterrupt:
        print(f"{job.rank}: interrupted", flush=True)
    job.all.barrier()


with muster.open() as the_job:
    assert the_job.size == int(os.environ["MUSTER_SIZE"]) and the_job.rank == int(os.environ["MUSTER_RANK"])
    {f.__name__: f for f in (events, stream, agree, misuse, interrupt)}[sys.argv[1]](the_job)
