#define _GNU_SOURCE
#include "host/early_ends.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/acct.h>
#include <linux/filter.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    VERSION_MIN = 12, /* of struct taskstats: since then it says who was the last of a group */
    MESSAGE_MAX = 4096,
    REQUEST_MAX = 512,
    HEADERS = NLMSG_HDRLEN + GENL_HDRLEN,
    /* As the kernel lays it out: a nest of the thread's number and its figures. */
    FIGURES_ATTRIBUTE = HEADERS + NLA_HDRLEN + NLA_HDRLEN + 4,
    FIGURES = FIGURES_ATTRIBUTE + NLA_HDRLEN,
    SIGNAL_MASK = 0x7f,
    CORE_DUMPED = 0x80,
};

/* ---- attributes ---- */

struct view {
    const uint8_t *bytes;
    size_t count;
};

/* Takes the next attribute of a row.  False: there is none, or it is cut short. */
static bool next_attribute(struct view *row, uint16_t *type, struct view *value)
{
    struct nlattr head;
    if (row->count < sizeof head)
        return false;
    memcpy(&head, row->bytes, sizeof head);
    if (head.nla_len < NLA_HDRLEN || head.nla_len > row->count)
        return false;
    *type = head.nla_type & NLA_TYPE_MASK;
    *value = (struct view){row->bytes + NLA_HDRLEN, (size_t)head.nla_len - NLA_HDRLEN};
    size_t step = NLA_ALIGN((size_t)head.nla_len);
    if (step > row->count)
        step = row->count;
    row->bytes += step;
    row->count -= step;
    return true;
}

static bool find_attribute(struct view row, uint16_t wanted, struct view *value)
{
    uint16_t type;
    while (next_attribute(&row, &type, value))
        if (type == wanted)
            return true;
    return false;
}

/* The attributes of a generic message of this type.  False: it is another one. */
static bool open_message(const uint8_t *bytes, size_t count, struct nlmsghdr *head,
                         struct view *attributes)
{
    if (count < HEADERS)
        return false;
    memcpy(head, bytes, sizeof *head);
    if (head->nlmsg_len < HEADERS || head->nlmsg_len > count)
        return false;
    *attributes = (struct view){bytes + HEADERS, head->nlmsg_len - HEADERS};
    return true;
}

/* Of a process with threads that dumps core the last thread need not be the one that knows it, nor
 * of which signal it died if another one came meanwhile. */
static bool is_certain(const struct taskstats *stats)
{
    switch (stats->ac_exitcode & SIGNAL_MASK) {
    case 0:
        return false;
    case SIGQUIT:
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGSEGV:
    case SIGXCPU:
    case SIGXFSZ:
    case SIGSYS:
        return (stats->ac_flag & ACORE) != 0;
    default:
        return true;
    }
}

/* Of a group of threads there is one nest for the thread, and one for the group, with sums: the
 * first one has what counts. */
bool mu_early_ends_decode(const uint8_t *bytes, size_t count, pid_t parent,
                          struct mu_early_end *end)
{
    struct nlmsghdr head;
    struct view attributes, nest, figures;
    struct taskstats stats;
    if (!open_message(bytes, count, &head, &attributes) ||
        !find_attribute(attributes, TASKSTATS_TYPE_AGGR_PID, &nest) ||
        !find_attribute(nest, TASKSTATS_TYPE_STATS, &figures) ||
        figures.count < offsetof(struct taskstats, ac_tgid) + sizeof stats.ac_tgid)
        return false;
    memset(&stats, 0, sizeof stats);
    memcpy(&stats, figures.bytes, figures.count < sizeof stats ? figures.count : sizeof stats);
    if (stats.version < VERSION_MIN || (stats.ac_flag & AGROUP) == 0 ||
        (pid_t)stats.ac_ppid != parent || !is_certain(&stats))
        return false;
    *end = (struct mu_early_end){.pid = (pid_t)stats.ac_tgid,
                                 .signal = (int)(stats.ac_exitcode & SIGNAL_MASK),
                                 .core_dumped = (stats.ac_exitcode & CORE_DUMPED) != 0};
    return true;
}

/* ---- asking for them ---- */

/* Returns 0 or an errno. */
static int ask(int fd, uint16_t type, uint16_t flags, uint8_t command, uint16_t attribute,
               const char *text)
{
    uint8_t request[REQUEST_MAX] = {0};
    size_t room = strlen(text) + 1;
    struct nlattr value = {.nla_len = (uint16_t)(NLA_HDRLEN + room), .nla_type = attribute};
    struct genlmsghdr generic = {.cmd = command, .version = 1};
    struct nlmsghdr head = {.nlmsg_len = (uint32_t)(HEADERS + NLA_ALIGN(value.nla_len)),
                            .nlmsg_type = type,
                            .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags)};
    assert(head.nlmsg_len <= sizeof request);
    memcpy(request, &head, sizeof head);
    memcpy(request + NLMSG_HDRLEN, &generic, sizeof generic);
    memcpy(request + HEADERS, &value, sizeof value);
    memcpy(request + HEADERS + NLA_HDRLEN, text, room);
    return send(fd, request, head.nlmsg_len, 0) < 0 ? errno : 0;
}

/* The kernel answers before send() returns.  Returns 0 or an errno. */
static int find_service(struct mu_early_ends *ends)
{
    uint8_t answer[MESSAGE_MAX];
    struct nlmsghdr head;
    struct view attributes, value;
    int error = ask(ends->fd, GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
                    TASKSTATS_GENL_NAME);
    if (error != 0)
        return error;
    ssize_t count = recv(ends->fd, answer, sizeof answer, 0);
    if (count < 0)
        return errno;
    if (!open_message(answer, (size_t)count, &head, &attributes) ||
        head.nlmsg_type != GENL_ID_CTRL ||
        !find_attribute(attributes, CTRL_ATTR_FAMILY_ID, &value) ||
        value.count < sizeof ends->service)
        return ENOENT;
    memcpy(&ends->service, value.bytes, sizeof ends->service);
    return 0;
}

/* All processors that there may ever be, as the kernel writes them: "0-1".  Returns 0 or an errno.
 */
static int read_processors(struct mu_early_ends *ends)
{
    int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    ssize_t count = read(fd, ends->processors, sizeof ends->processors - 1);
    int error = count < 0 ? errno : count == 0 ? ENOENT : 0;
    close(fd);
    ends->processors[count > 0 ? count : 0] = '\0';
    ends->processors[strcspn(ends->processors, "\n")] = '\0';
    return error;
}

/* Every end of a thread on this host is offered to each daemon; only that of a killed
 * child here is to wake it up.  Where the figures are not where they are expected,
 * mu_early_ends_decode() decides. What is loaded counts as if it were in the order of the network.
 * Returns 0 or an errno. */
static int keep_to_own_children(const struct mu_early_ends *ends)
{
    enum { PASS = 10, DROP = 11 };
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_type)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(ends->service), 0, PASS - 2),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, FIGURES_ATTRIBUTE + offsetof(struct nlattr, nla_type)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(TASKSTATS_TYPE_STATS), 0, PASS - 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIGURES + offsetof(struct taskstats, ac_ppid)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl((uint32_t)ends->self), 0, DROP - 6),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, FIGURES + offsetof(struct taskstats, ac_flag)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, AGROUP, 0, DROP - 8),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIGURES + offsetof(struct taskstats, ac_exitcode)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, htonl(SIGNAL_MASK), 0, DROP - 10),
        BPF_STMT(BPF_RET | BPF_K, MESSAGE_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    return setsockopt(ends->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0
               ? 0
               : errno;
}

/* An end may have come before the answer: then it is thrown away.  Returns 0 or an errno. */
static int enlist(struct mu_early_ends *ends)
{
    uint8_t answer[MESSAGE_MAX];
    struct nlmsghdr head;
    struct nlmsgerr result;
    int error = ask(ends->fd, ends->service, NLM_F_ACK, TASKSTATS_CMD_GET,
                    TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, ends->processors);
    if (error != 0)
        return error;
    for (;;) {
        ssize_t count = recv(ends->fd, answer, sizeof answer, 0);
        if (count < 0)
            return errno;
        if ((size_t)count < NLMSG_HDRLEN + sizeof result)
            continue;
        memcpy(&head, answer, sizeof head);
        memcpy(&result, answer + NLMSG_HDRLEN, sizeof result);
        if (head.nlmsg_type == NLMSG_ERROR)
            return -result.error;
    }
}

static pid_t make_child_that_kills_itself(void)
{
    pid_t child = vfork(); /* in our memory: there is nothing to copy */
    if (child != 0)
        return child;
    kill(getpid(), SIGKILL);
    _exit(1);
}

/* In another network the kernel takes everything that is asked for, and sends to a socket of the
 * host's with our number, if there is one; and an old kernel does not say who was the last of a
 * group.  Returns 0 or an errno. */
static int try_it(struct mu_early_ends *ends)
{
    struct mu_early_end end;
    bool came = false;
    pid_t child = make_child_that_kills_itself();
    if (child < 0)
        return errno;
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    while (mu_early_ends_next(ends, &end))
        came = came || end.pid == child;
    return came ? 0 : ENOTSUP;
}

static int open_parts(struct mu_early_ends *ends)
{
    ends->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_GENERIC);
    if (ends->fd < 0)
        return errno;
    int error = find_service(ends);
    if (error == 0)
        error = read_processors(ends);
    if (error == 0)
        error = keep_to_own_children(ends);
    if (error == 0)
        error = enlist(ends);
    return error == 0 ? try_it(ends) : error;
}

int mu_early_ends_open(struct mu_early_ends *ends)
{
    *ends = (struct mu_early_ends){.fd = -1, .self = getpid()};
    int error = open_parts(ends);
    if (error != 0)
        mu_early_ends_close(ends);
    return error;
}

/* Said, because the kernel forgets a closed socket only when it has something for it, and by then
 * its number may be another's. */
void mu_early_ends_close(struct mu_early_ends *ends)
{
    if (ends->fd < 0)
        return;
    if (ends->service != 0)
        ask(ends->fd, ends->service, 0, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK,
            ends->processors);
    close(ends->fd);
    ends->fd = -1;
}

bool mu_early_ends_next(struct mu_early_ends *ends, struct mu_early_end *end)
{
    uint8_t bytes[MESSAGE_MAX];
    struct sockaddr_nl from;
    for (;;) {
        socklen_t room = sizeof from;
        ssize_t count = recvfrom(ends->fd, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &room);
        if (count < 0 && (errno == EINTR || errno == ENOBUFS))
            continue;
        if (count < 0 && errno != EAGAIN)
            mu_early_ends_close(ends); /* or it would be readable for ever */
        if (count < 0)
            return false;
        bool is_kernel = room == sizeof from && from.nl_pid == 0;
        if (is_kernel && mu_early_ends_decode(bytes, (size_t)count, ends->self, end))
            return true;
    }
}
