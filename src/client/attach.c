/* The board and the bell: what a handle is told by, once the state is known. */
#define _GNU_SOURCE
#include "client/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nobody may shorten it, or reading it would kill the program (SIGBUS). */
static const char *map_board(struct muster *m, int fd)
{
    struct stat about;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(fd, &about) != 0)
        return "it is not sealed memory";
    void *memory = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return mu_client_errno_text(errno);
    const char *why = mu_board_look(&m->board, memory, (size_t)about.st_size);
    if (why != NULL)
        munmap(memory, (size_t)about.st_size);
    else
        m->board_bytes = (size_t)about.st_size;
    return why;
}

/* The bell is the same for all members of the job on this node, and nobody reads it: so what wakes
 * us up is not that it is readable, but each stroke (EPOLLET). */
static const char *watch_both(struct muster *m)
{
    struct epoll_event packets = {.events = EPOLLIN, .data.fd = m->fd};
    struct epoll_event strokes = {.events = EPOLLIN | EPOLLET, .data.fd = m->bell};
    m->poll_fd = mu_client_above_standard(epoll_create1(EPOLL_CLOEXEC));
    bool watched = m->poll_fd >= 0 && epoll_ctl(m->poll_fd, EPOLL_CTL_ADD, m->fd, &packets) == 0 &&
                   epoll_ctl(m->poll_fd, EPOLL_CTL_ADD, m->bell, &strokes) == 0;
    return watched ? NULL : mu_client_errno_text(errno);
}

int mu_client_attach(struct muster *m, const int fds[MU_CLIENT_FDS], struct muster_error *error)
{
    const char *why = NULL;
    m->bell = fds[1];
    if (fds[0] < 0 || fds[1] < 0)
        why = "its descriptors did not arrive: too many are open";
    if (why == NULL)
        why = map_board(m, fds[0]);
    if (why == NULL)
        why = watch_both(m);
    if (fds[0] >= 0)
        close(fds[0]); /* the mapping stays */
    if (why == NULL)
        return 0;
    mu_client_fail(error, MUSTER_E_SYSTEM, "cannot use the board of the daemon @%s: %s", m->name,
                   why);
    mu_client_detach(m);
    return -1;
}

void mu_client_detach(struct muster *m)
{
    if (m->board_bytes > 0)
        munmap((void *)(uintptr_t)m->board.board, m->board_bytes);
    if (m->bell >= 0)
        close(m->bell);
    if (m->poll_fd >= 0)
        close(m->poll_fd);
}
