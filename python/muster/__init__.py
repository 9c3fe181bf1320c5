"""Failure notification and agreement for parallel jobs that 'muster run' started.

    import muster

    with muster.open() as job:
        for event in job.events():      # first what has happened already, then each failure
            print(event.text)

In asyncio: 'async for event in job.stream()'.  To choose the same next step at all survivors:

    if job.all.agree(1 if converged else 0).bits & 1: ...

Every failure of a call raises muster.Error, with a code and one sentence.  Waiting never blocks
Ctrl-C or other threads.  The rules behind each call are in 'man 3 muster'.
"""

import asyncio
import ctypes
import dataclasses
import select
import time
from typing import AsyncIterator, Iterable, Iterator, List, Optional, Tuple

from . import library as _c
from .library import Code, EventType, Verdict

__all__ = [
    "Agreement",
    "Code",
    "Error",
    "Event",
    "EventType",
    "Group",
    "Job",
    "Verdict",
    "View",
    "open",
    "version",
]

_lib = _c.load()


class Error(Exception):
    """A call of the library failed: 'code' says why (Code), 'text' is one sentence."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that happened to the job.  Skip types and verdicts that you do not know."""

    type: int  #: EventType
    verdict: int  #: PROCESS, NODE: Verdict
    rank: int  #: PROCESS
    node: int  #: PROCESS: where it ran; NODE: itself
    seen_by: int  #: the node that detected it
    is_state: bool  #: it happened before open(), or is repeated after OVERFLOW
    exit_code: Optional[int]  #: PROCESS: 0 to 255; None: it did not exit by itself
    signal: Optional[int]  #: PROCESS: the signal that ended it, or None
    hops: int  #: number of daemons that forwarded the notice
    pid: int  #: PROCESS: its process ID on its node; 0: it was never started
    lost: int  #: OVERFLOW: number of events dropped
    age: float  #: seconds from detection until this event was read
    serial: int  #: counts events at the daemon of this node
    view: int  #: VIEW: its number
    text: str  #: the event in one sentence

    @property
    def is_failure(self) -> bool:
        """Did a rank or a node fail?"""
        return self.type in (EventType.PROCESS, EventType.NODE) and self.verdict != Verdict.LEFT


@dataclasses.dataclass(frozen=True)
class View:
    """The numbered membership of the cluster, the same at all survivors."""

    number: int  #: 0: none yet
    nodes: Tuple[int, ...]  #: in increasing order


@dataclasses.dataclass(frozen=True)
class Agreement:
    """A decision, the same at all survivors."""

    bits: int  #: the bitwise AND of the contributions
    has_failures: bool  #: some survivor has not acknowledged every failure: see Group.failed


def _event(raw: _c.CEvent) -> Event:
    is_process = raw.type == EventType.PROCESS
    return Event(
        type=raw.type,
        verdict=raw.verdict,
        rank=raw.rank,
        node=raw.node,
        seen_by=raw.seen_by,
        is_state=raw.is_state != 0,
        exit_code=raw.exit_code if is_process and raw.exit_code >= 0 else None,
        signal=raw.signal or None,
        hops=raw.hops,
        pid=raw.pid,
        lost=raw.lost,
        age=raw.age_ns / 1e9,
        serial=raw.serial,
        view=raw.view,
        text=raw.text.decode("utf-8", "replace"),
    )


def _check(result: int, error: _c.CError) -> int:
    if result < 0:
        raise Error(error.code, error.text.decode("utf-8", "replace"))
    return result


def _wait(fd: int, until: Optional[float]) -> None:
    """Until the descriptor is readable, or the time has come.  Python's own wait serves signals;
    the library's would go on waiting."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    left = None if until is None else max(0.0, until - time.monotonic()) * 1000
    poll.poll(left)


def _until(timeout: Optional[float]) -> Optional[float]:
    return None if timeout is None else time.monotonic() + timeout


def _is_over(until: Optional[float]) -> bool:
    return until is not None and time.monotonic() >= until


async def _readable(fd: int) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def on_readable() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(fd, on_readable)
    try:
        await ready
    finally:
        loop.remove_reader(fd)


class Group:
    """Ranks that agree with each other.  Every member creates it, and calls agree(), barrier() and
    shrink() in the same order.  Job.all is the group of all ranks."""

    def __init__(self, job: "Job", handle: Optional[ctypes.c_void_p]) -> None:
        self._job = job
        self._handle = handle  # None: all ranks

    def start(self, bits: int = 2**64 - 1) -> None:
        """Contributes to the next agreement, and does not wait for it: test() and wait() do."""
        error = _c.CError()
        _check(_lib.muster_agree_start(self._job._m, self._handle, bits, error), error)

    def test(self) -> Optional[Agreement]:
        """The decision of the agreement that was started, or None when there is none yet."""
        error, bits = _c.CError(), ctypes.c_uint64()
        result = _check(_lib.muster_agree_test(self._job._m, self._handle, bits, error), error)
        if result == _c.Result.PENDING:
            return None
        return Agreement(bits.value, result == _c.Result.AGREED_FAILURES)

    def wait(self, timeout: Optional[float] = None) -> Optional[Agreement]:
        """The same, after at most 'timeout' seconds; without a timeout there is a decision."""
        until = _until(timeout)
        while True:
            decision = self.test()
            if decision is not None or _is_over(until):
                return decision
            _wait(_lib.muster_agree_fd(self._job._m, self._handle), until)

    def agree(self, bits: int = 2**64 - 1) -> Agreement:
        """Contributes 64 bits and returns the decision: their AND, the same at all survivors."""
        self.start(bits)
        decision = self.wait()
        assert decision is not None
        return decision

    async def agree_async(self, bits: int = 2**64 - 1) -> Agreement:
        """As agree(), in asyncio."""
        self.start(bits)
        while True:
            decision = self.test()
            if decision is not None:
                return decision
            await _readable(_lib.muster_agree_fd(self._job._m, self._handle))

    def barrier(self) -> bool:
        """Returns when every member has called it, failed or left.  False: there is a failure that
        some survivor has not acknowledged."""
        return not self.agree().has_failures

    def failed(self) -> List[int]:
        """The ranks that failed, by the agreements of this group: the same list at all members."""
        error, count = _c.CError(), ctypes.c_uint32()
        room = self._job.size
        ranks = (ctypes.c_uint32 * room)()
        _check(
            _lib.muster_get_failed(self._job._m, self._handle, ranks, room, count, error), error
        )
        return list(ranks[: min(room, count.value)])

    def acknowledge(self) -> None:
        """Acknowledges all of them: the next agreement tells the others."""
        error = _c.CError()
        _check(_lib.muster_ack_failed(self._job._m, self._handle, error), error)

    def shrink(self) -> None:
        """Agrees on the survivors, and reduces the group to them."""
        error = _c.CError()
        _check(_lib.muster_shrink(self._job._m, self._handle, error), error)

    def ranks(self) -> List[int]:
        """The ranks of its members, in the order of their numbers."""
        m = self._job._m
        size = _lib.muster_group_size(m, self._handle)
        return [_lib.muster_group_member(m, self._handle, i) for i in range(size)]

    def __len__(self) -> int:
        return int(_lib.muster_group_size(self._job._m, self._handle))

    def index(self, rank: int) -> Optional[int]:
        """The number of a rank among the members, or None when it is not one (any more)."""
        number = _lib.muster_group_index(self._job._m, self._handle, rank)
        return None if number == 2**32 - 1 else number

    def close(self) -> None:
        """Leaves the group: the others no longer wait for this process."""
        if self._handle is not None:
            _lib.muster_group_free(self._handle)
        self._handle = None
        self._job._groups.discard(self)


class Job:
    """The job that this process was started in.  Close it before the process exits, best by 'with':
    a process that exits with code 0 without closing it has failed, as in MPI without MPI_Finalize."""

    def __init__(self) -> None:
        error = _c.CError()
        self._m = ctypes.c_void_p()
        self._groups: set = set()
        _check(_lib.muster_open(self._m, error), error)
        self.rank: int = _lib.muster_rank(self._m)  #: of this process, from 0
        self.size: int = _lib.muster_size(self._m)  #: ranks of the job, failed ones included
        self.number: int = _lib.muster_job(self._m)  #: of the job
        self.node: int = _lib.muster_node(self._m)  #: that this process runs on, from 0
        self.nodes: int = _lib.muster_nodes(self._m)  #: of the cluster, failed ones included
        self.all = Group(self, None)  #: all ranks; joined with its first use

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Frees the job and its groups, and notifies the daemon.  May be called again."""
        for group in list(self._groups):
            group.close()
        _lib.muster_close(self._m)
        self._m = ctypes.c_void_p()

    def fileno(self) -> int:
        """A descriptor that is readable while next() has an event: for select and event loops."""
        return int(_lib.muster_fd(self._m))

    def _take(self) -> Optional[Event]:
        error, raw = _c.CError(), _c.CEvent()
        got = _check(_lib.muster_next(self._m, raw, 0, error), error)
        return _event(raw) if got == 1 else None

    def next(self, timeout: Optional[float] = None) -> Optional[Event]:
        """The next event, or None when none came within 'timeout' seconds (None: no limit)."""
        until = _until(timeout)
        while True:
            event = self._take()
            if event is not None or _is_over(until):
                return event
            _wait(self.fileno(), until)

    def events(self) -> Iterator[Event]:
        """Every event: first what has already happened, then CAUGHT_UP, then each as it comes."""
        while True:
            event = self.next()
            assert event is not None
            yield event

    async def stream(self) -> AsyncIterator[Event]:
        """As events(), in asyncio."""
        while True:
            event = self._take()
            if event is not None:
                yield event
            else:
                await _readable(self.fileno())

    def view(self) -> View:
        """The view of the last VIEW event that was read."""
        error, number, count = _c.CError(), ctypes.c_uint64(), ctypes.c_uint32()
        nodes = (ctypes.c_uint32 * self.nodes)()
        _check(_lib.muster_view(self._m, number, nodes, self.nodes, count, error), error)
        return View(number.value, tuple(nodes[: count.value]))

    def group(self, ranks: Iterable[int]) -> Group:
        """A group of these ranks, this one among them."""
        members = list(ranks)
        array = (ctypes.c_uint32 * len(members))(*members)
        error, handle = _c.CError(), ctypes.c_void_p()
        _check(_lib.muster_group_create(self._m, array, len(members), handle, error), error)
        group = Group(self, handle)
        self._groups.add(group)
        return group


def open() -> Job:  # noqa: A001: as muster_open()
    """Joins the job that this process was started in.  Waits at most 10 seconds for the daemon."""
    return Job()


def version() -> str:
    """The version of the library."""
    return str(_lib.muster_version().decode())
