/* Several daemons' sockets in one process, on one loop: doors that take connections for bulk, and
 * ways to break these. */
#ifndef MU_TEST_BULK_HOSTS_H
#define MU_TEST_BULK_HOSTS_H

#include "net/conn_inside.h"
#include "daemon/peers/door.h"
#include "turn.h"

#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { TURNS_MAX = 20000 };

/* A machine of so many nodes at most. */
enum { HOSTS_MAX = 24 };

struct socket_host {
    struct mu_net net;
    struct mu_door door;
};

static uv_loop_t loop;
static struct socket_host sockets[HOSTS_MAX];
static struct sockaddr_in addresses[HOSTS_MAX];

static inline void hosts_open(uint32_t size, void (*member)(void *owner, struct mu_conn *conn),
                              void *const *owners)
{
    static const uint8_t key[MU_SEAL_KEY_BYTES] = {4, 5, 6};
    signal(SIGPIPE, SIG_IGN); /* as the daemon does */
    assert_int_equal(uv_loop_init(&loop), 0);
    for (mu_slot slot = 0; slot < size; slot++) {
        struct socket_host *host = &sockets[slot];
        memset(host, 0, sizeof *host);
        struct mu_hello self = {.machine = 78, .size = size, .from = slot, .incarnation = 1};
        assert_int_equal(mu_net_init(&host->net, &loop, &self, key), 0);
        host->door.member = member;
        host->door.owner = owners[slot];
        struct sockaddr_in any = {.sin_family = AF_INET};
        inet_pton(AF_INET, "127.0.0.1", &any.sin_addr);
        assert_int_equal(mu_door_open(&host->door, &host->net, &any), 0);
        addresses[slot] = host->door.address;
    }
}

/* After everything that uses them was closed. */
static inline void hosts_close(uint32_t size)
{
    for (mu_slot slot = 0; slot < size; slot++)
        mu_door_close(&sockets[slot].door);
    uv_run(&loop, UV_RUN_DEFAULT);
    for (mu_slot slot = 0; slot < size; slot++)
        mu_net_free(&sockets[slot].net);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* Every connection of the node breaks, as if the network had reset it. */
static inline void hosts_break(mu_slot slot)
{
    for (struct mu_conn *conn = sockets[slot].net.first; conn != NULL; conn = conn->next) {
        uv_os_fd_t fd;
        if (!conn->closing && uv_fileno((uv_handle_t *)&conn->tcp, &fd) == 0)
            shutdown(fd, SHUT_RDWR);
    }
}

/* Runs the loop until the condition holds; fails when it never does. */
#define UNTIL(condition)                                                                           \
    do {                                                                                           \
        int turns = 0;                                                                             \
        while (!(condition)) {                                                                     \
            assert_true(turns++ < TURNS_MAX);                                                      \
            turn_loop(&loop);                                                                      \
        }                                                                                          \
    } while (false)

#endif
