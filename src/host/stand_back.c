#define _GNU_SOURCE
#include "host/stand_back.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LAST = 19 /* the lowest of ordinary priorities */ };

bool mu_stand_back_may(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    return syscall(SYS_capget, &head, sets) == 0 &&
           (sets[CAP_TO_INDEX(CAP_SYS_NICE)].effective & CAP_TO_MASK(CAP_SYS_NICE)) != 0;
}

/* The number of the child is its own until it is reaped, and a group that was killed makes no
 * threads: so a thread that is in the group is the one that is meant.  A thread that ends between
 * this and what follows would have to leave its number to another one in that moment. */
static bool is_there(const struct mu_stand_back *back)
{
    return syscall(SYS_tgkill, back->group, back->thread, 0) == 0;
}

void mu_stand_back_begin(struct mu_stand_back *back, pid_t group, pid_t thread)
{
    *back = (struct mu_stand_back){.group = group, .thread = thread};
    errno = 0;
    if (is_there(back))
        back->nice = getpriority(PRIO_PROCESS, (id_t)thread); /* -1 may be one */
    else
        errno = ESRCH;
    if (errno != 0 || setpriority(PRIO_PROCESS, (id_t)thread, LAST) != 0)
        back->thread = 0;
}

void mu_stand_back_end(struct mu_stand_back *back)
{
    if (back->thread != 0 && is_there(back))
        setpriority(PRIO_PROCESS, (id_t)back->thread, back->nice);
    back->thread = 0;
}
