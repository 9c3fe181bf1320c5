"""Prints a C program that compares muster.h with what the Python package takes it for: structs, numbers, functions."""

import re
import sys

from muster import library

header = open(sys.argv[1], encoding="utf-8").read()
print('#include "muster.h"\n#include <stddef.h>')


def same(expression, value):
    print(f'_Static_assert(({expression}) == {value}, "{expression}");')


for name, struct in (("muster_error", library.CError), ("muster_event", library.CEvent)):
    import ctypes

    same(f"sizeof(struct {name})", ctypes.sizeof(struct))
    for field, *_ in struct._fields_:
        same(f"offsetof(struct {name}, {field})", getattr(struct, field).offset)
        same(f"sizeof(((struct {name} *)0)->{field})", getattr(struct, field).size)


def members(enum):
    body = re.search(r"enum " + enum + r" \{(.*?)\n\};", header, re.S).group(1)
    return re.findall(r"^ +(MUSTER_\w+)", body, re.M)


for enum, prefix, python in (
    ("muster_code", "MUSTER_E_", library.Code),
    ("muster_verdict", "MUSTER_", library.Verdict),
    ("muster_event_type", "MUSTER_EVENT_", library.EventType),
    ("muster_result", "MUSTER_", library.Result),
):
    for name in members(enum):
        short = name[len(prefix):]
        if name != "MUSTER_E_NONE":
            same(name, int(python[short]))
    if len(members(enum)) - (enum == "muster_code") != len(python):
        print(f'#error "{enum} has other members in Python"')

declared = set(re.findall(r"^[a-z].*[ *](muster_[a-z_]+)\(", header, re.M))
for name in sorted(declared ^ set(library.PROTOTYPES)):
    print(f'#error "{name} is not in both"')
for name, (result, arguments) in library.PROTOTYPES.items():
    text = re.search(r"^[a-z].*[ *]" + name + r"\(([^;]*)\);", header, re.M).group(1)
    count = 0 if text.strip() == "void" else text.count(",") + 1
    if count != len(arguments):
        print(f'#error "{name} has {count} arguments"')
