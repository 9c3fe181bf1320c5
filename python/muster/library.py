"""The functions, structs and numbers of muster.h, for ctypes.  Inside of the package."""

import ctypes
import enum
import pathlib
from ctypes import POINTER, c_char, c_char_p, c_int, c_int32, c_int64, c_uint32, c_uint64, c_void_p

SONAME = "libmuster.so.0"
FOREVER = 2**63 - 1
ALL = None


class Code(enum.IntEnum):
    """Why a call failed."""

    NOT_A_MEMBER = 1
    NO_DAEMON = 2
    REFUSED = 3
    VERSION = 4
    FORKED = 5
    PROTOCOL = 6
    SYSTEM = 7
    INVALID = 8


class Verdict(enum.IntEnum):
    """How a rank or a node ended.  All but LEFT are failures."""

    DEAD = 1
    SILENT = 2
    UNREACHABLE = 3
    LEFT = 7


class EventType(enum.IntEnum):
    """What an event is about."""

    PROCESS = 1
    NODE = 2
    OVERFLOW = 3
    CAUGHT_UP = 4
    VIEW = 5


class Result(enum.IntEnum):
    """What came of an agreement."""

    AGREED = 0
    AGREED_FAILURES = 1
    PENDING = 2


class CError(ctypes.Structure):
    """struct muster_error"""

    _fields_ = [("code", c_int), ("text", c_char * 256)]


class CEvent(ctypes.Structure):
    """struct muster_event"""

    _fields_ = [
        ("type", c_uint32),
        ("verdict", c_uint32),
        ("rank", c_uint32),
        ("node", c_uint32),
        ("seen_by", c_uint32),
        ("is_state", c_uint32),
        ("exit_code", c_int32),
        ("signal", c_int32),
        ("hops", c_uint32),
        ("pid", c_uint32),
        ("lost", c_uint64),
        ("age_ns", c_uint64),
        ("serial", c_uint64),
        ("text", c_char * 256),
        ("view", c_uint64),
        ("reserved", c_uint64 * 7),
    ]


_ERROR = POINTER(CError)
_HANDLE, _GROUP = c_void_p, c_void_p

# name: (result, arguments)
PROTOTYPES = {
    "muster_open": (c_int, [POINTER(_HANDLE), _ERROR]),
    "muster_close": (None, [_HANDLE]),
    "muster_next": (c_int, [_HANDLE, POINTER(CEvent), c_int64, _ERROR]),
    "muster_fd": (c_int, [_HANDLE]),
    "muster_rank": (c_uint32, [_HANDLE]),
    "muster_size": (c_uint32, [_HANDLE]),
    "muster_job": (c_uint32, [_HANDLE]),
    "muster_node": (c_uint32, [_HANDLE]),
    "muster_nodes": (c_uint32, [_HANDLE]),
    "muster_view": (c_int, [_HANDLE, POINTER(c_uint64), POINTER(c_uint32), c_uint32, POINTER(c_uint32), _ERROR]),
    "muster_group_create": (c_int, [_HANDLE, POINTER(c_uint32), c_uint32, POINTER(_GROUP), _ERROR]),
    "muster_group_free": (None, [_GROUP]),
    "muster_group_size": (c_uint32, [_HANDLE, _GROUP]),
    "muster_group_member": (c_uint32, [_HANDLE, _GROUP, c_uint32]),
    "muster_group_index": (c_uint32, [_HANDLE, _GROUP, c_uint32]),
    "muster_agree": (c_int, [_HANDLE, _GROUP, POINTER(c_uint64), _ERROR]),
    "muster_agree_start": (c_int, [_HANDLE, _GROUP, c_uint64, _ERROR]),
    "muster_agree_test": (c_int, [_HANDLE, _GROUP, POINTER(c_uint64), _ERROR]),
    "muster_agree_wait": (c_int, [_HANDLE, _GROUP, POINTER(c_uint64), c_int64, _ERROR]),
    "muster_agree_fd": (c_int, [_HANDLE, _GROUP]),
    "muster_barrier": (c_int, [_HANDLE, _GROUP, _ERROR]),
    "muster_get_failed": (c_int, [_HANDLE, _GROUP, POINTER(c_uint32), c_uint32, POINTER(c_uint32), _ERROR]),
    "muster_ack_failed": (c_int, [_HANDLE, _GROUP, _ERROR]),
    "muster_shrink": (c_int, [_HANDLE, _GROUP, _ERROR]),
    "muster_verdict_name": (c_char_p, [c_uint32]),
    "muster_version": (c_char_p, []),
}


def _beside():
    """The library of the installation, or of the build tree, that this file belongs to."""
    for folder in pathlib.Path(__file__).resolve().parents[1:6]:
        for place in (folder, folder / "build" / "lib"):
            yield from place.glob(SONAME)
            yield from place.glob("*-linux-*/" + SONAME)


def _find():
    found = next(_beside(), None)
    if found is not None:
        return ctypes.CDLL(str(found))
    try:
        return ctypes.CDLL(SONAME)
    except OSError as error:
        raise ImportError(
            f"cannot load {SONAME}: {error} (install muster, or add its lib folder to LD_LIBRARY_PATH)"
        ) from None


def load():
    """The library with its prototypes.  Raises ImportError when there is none."""
    library = _find()
    for name, (result, arguments) in PROTOTYPES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
