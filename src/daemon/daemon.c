#include "daemon/daemon.h"

#include "daemon/inside.h"
#include "host/clock.h"
#include "host/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CLIENTS_MAX = 4096,
    PROCESSES_MAX = 4096,
    GRACE_MS = 500, /* between SIGTERM and SIGKILL, when the machine ends */
    EXIT_FENCED = 3,
    ACK_DELAY_MS = 150, /* rings are long; half of one owed is acknowledged at once */
    VIEW_SHIFT = 2,     /* and those of views */
    EXCHANGE_SHIFT = 2, /* trees of exchanges have a fan-out of 4 */
};

/* ---- what any part may say ---- */

void mu_daemon_fault(struct mu_daemon *daemon, enum mu_fault fault, mu_slot peer)
{
    if (daemon->faults[fault]++ > 0)
        return;
    char from[24] = "seen here";
    if (peer != MU_SLOT_NONE)
        snprintf(from, sizeof from, "node %" PRIu32, peer);
    mu_warn("%s: %s (%s); this is said once, and counted", mu_fault_name(fault),
            mu_fault_text(fault), from);
}

static void end(struct mu_daemon *daemon, uint32_t grace_ms);

void mu_daemon_fenced(struct mu_daemon *daemon)
{
    mu_warn("declared failed by its peers; killing its processes and exiting");
    daemon->fenced = true;
    daemon->exit_code = EXIT_FENCED;
}

/* ---- hooks of the peers ---- */

static void say_ready(struct mu_daemon *daemon)
{
    if (daemon->ready_said || mu_peers_up(daemon->peers) < mu_peers_wanted(daemon->peers))
        return;
    daemon->ready_said = true;
    if (write(daemon->answers, "ready\n", 6) != 6)
        mu_warn("cannot say that this node is ready: %s", strerror(errno));
}

void mu_daemon_settle(struct mu_daemon *daemon)
{
    say_ready(daemon);
    if (daemon->fenced && !daemon->ending)
        end(daemon, 0);
}

static void peer_broke(void *owner, mu_slot peer)
{
    mu_daemon_ring_broke(owner, peer);
}

void mu_daemon_fenced_by(struct mu_daemon *daemon, mu_slot by)
{
    if (daemon->fenced)
        return;
    if (by == MU_SLOT_NONE)
        mu_warn("declared failed by its peers, as the launcher reports; killing its processes and "
                "exiting");
    else
        mu_warn("node %" PRIu32 " says that this node was declared dead", by);
    const struct mu_roster_entry own = {.slot = daemon->net.self.from,
                                        .incarnation = daemon->net.self.incarnation};
    mu_daemon_node_told(daemon, &own, by);
    mu_daemon_settle(daemon);
}

static void peer_fenced(void *owner, mu_slot by)
{
    mu_daemon_fenced_by(owner, by);
}

static void peer_left(void *owner, mu_slot peer, uint32_t incarnation)
{
    mu_daemon_ring_left(owner, peer, incarnation);
}

/* ---- agreements ---- */

static const char *peer_agrees(void *owner, mu_slot peer, const uint8_t *bytes, size_t count)
{
    struct mu_daemon *daemon = owner;
    return mu_agreements_frame(daemon->agreements, peer, bytes, count);
}

static void agree_send(void *owner, mu_slot peer, const uint8_t *bytes, size_t count)
{
    struct mu_daemon *daemon = owner;
    mu_peers_say(daemon->peers, peer, bytes, count);
}

static void agree_dead(void *owner, const struct mu_roster_entry *death, mu_slot by)
{
    struct mu_daemon *daemon = owner;
    mu_daemon_node_told(daemon, death, by);
    mu_daemon_settle(daemon);
}

static void agree_fenced(void *owner, mu_slot by)
{
    mu_daemon_fenced_by(owner, by);
}

static void agree_fault(void *owner, enum mu_fault fault, mu_slot peer)
{
    struct mu_daemon *daemon = owner;
    mu_daemon_fault(daemon, fault, peer);
    if (peer < daemon->net.self.size && peer != daemon->net.self.from &&
        mu_peers_cut(daemon->peers, peer, MU_CLOSE_FULL))
        mu_drive_cut(daemon->drive, peer);
}

/* ---- views ---- */

static const char *peer_views(void *owner, mu_slot peer, const uint8_t *bytes, size_t count)
{
    struct mu_daemon *daemon = owner;
    return mu_views_frame(daemon->views, peer, bytes, count);
}

static void view_stopped(void *owner, enum mu_view_stop why)
{
    struct mu_daemon *daemon = owner;
    if (daemon->fenced || why == MU_VIEW_STOP_LEFT)
        return;
    if (why == MU_VIEW_STOP_QUORUM)
        mu_warn("too few nodes are left here to go on, or the next view has no room; "
                "stopping this node");
    else
        mu_warn("the other nodes go on without this one; stopping this node");
    daemon->fenced = true;
    daemon->exit_code = EXIT_FENCED;
    mu_daemon_settle(daemon);
}

static void on_voter(void *owner, uint32_t job, uint32_t rank, int fd)
{
    struct mu_daemon *daemon = owner;
    mu_agreements_voter(daemon->agreements, job, rank, fd);
}

/* ---- who connects ---- */

static void launcher_known(struct mu_conn *conn)
{
    (void)conn;
    assert(false); /* it was known before it was handed over */
}

static void launcher_open(struct mu_conn *conn)
{
    struct mu_daemon *daemon = mu_conn_owner(conn);
    if (daemon->ending)
        mu_conn_drop(conn); /* there may be no jobs any more to give it to */
    else
        mu_jobs_launcher(daemon->jobs, conn);
}

static void launcher_frame(struct mu_conn *conn, const uint8_t *bytes, size_t count)
{
    (void)bytes;
    (void)count;
    launcher_known(conn); /* since it is open, it belongs to the jobs */
}

static void launcher_closed(struct mu_conn *conn, const struct mu_conn_end *how)
{
    (void)conn;
    mu_tell("a launcher went away before it began: %s", how->text);
}

static const struct mu_conn_hooks launcher = {.known = launcher_known,
                                              .open = launcher_open,
                                              .frame = launcher_frame,
                                              .closed = launcher_closed};

static void on_member(void *owner, struct mu_conn *conn)
{
    struct mu_daemon *daemon = owner;
    if (daemon->ending || daemon->peers == NULL) {
        mu_conn_drop(conn);
        return;
    }
    switch (mu_conn_kind(conn)) {
    case MU_SEAL_NOTICES:
        mu_peers_member(daemon->peers, conn);
        return;
    case MU_SEAL_LAUNCHER:
        mu_conn_hand_over(conn, &launcher, daemon);
        mu_conn_accept(conn, 0);
        return;
    case MU_SEAL_BULK:
        mu_exchanges_member(daemon->exchanges, conn);
        return;
    case MU_SEAL_WITNESS:
        mu_daemon_witness_member(daemon, conn);
        return;
    case MU_SEAL_ANY:
        break; /* of an acceptor, until the dialler has said which */
    }
    abort();
}

/* ---- jobs and clients ---- */

static void job_declared(void *owner)
{
    mu_daemon_fenced_by(owner, MU_SLOT_NONE);
}

/* ---- beginning ---- */

/* Hosts with one clock have the same number.  The kernel draws it when it boots. */
static uint64_t clock_number(void)
{
    char text[64] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t count = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    uint64_t hash = 0;
    if (count > 0)
        crypto_generichash((unsigned char *)&hash, sizeof hash, (const unsigned char *)text,
                           (unsigned long long)count, NULL, 0);
    return hash;
}

static const char *say(char *text, const char *what, int error)
{
    snprintf(text, MU_ORDERS_TEXT_MAX, "%s: %s", what, strerror(error));
    return text;
}

/* NULL, or what failed; what is open then stays open: the process ends. */
static const char *open_parts(struct mu_daemon *daemon, const struct mu_daemon_config *config,
                              char *text)
{
    const struct mu_orders *orders = config->orders;
    struct mu_hello self = {.machine = orders->machine, .size = orders->size, .from = orders->slot};
    if (!mu_roll_open(&daemon->roll, orders->slot, orders->size))
        return say(text, "cannot make the roll of this cluster", ENOMEM);
    mu_daemon_found(daemon);
    self.incarnation = mu_roll_member(&daemon->roll, self.from).incarnation;
    int failed = mu_net_init(&daemon->net, &daemon->loop, &self, orders->key);
    if (failed != 0)
        return say(text, "cannot set up connections", failed);

    if (config->record != NULL)
        failed = mu_recorder_open(&daemon->loop, config->record, &daemon->recorder);
    if (failed != 0)
        return say(text, config->record, failed);

    struct mu_notify_config notify = {
        .loop = &daemon->loop,
        .machine = orders->machine,
        .roll = &daemon->roll,
        .journal = config->journal,
        .clients = CLIENTS_MAX,
        .hooks = {daemon, mu_daemon_node, mu_daemon_counter, mu_daemon_kill, mu_daemon_set,
                  mu_daemon_chaos, mu_daemon_chaos_let_go, on_voter, mu_daemon_gone_next}};
    failed = mu_notify_open(&notify, &daemon->notify);
    if (failed != 0)
        return say(text, "cannot open the socket and the board for local programs", failed);

    struct mu_agreements_config agreements = {.loop = &daemon->loop,
                                              .roll = &daemon->roll,
                                              .recorder = daemon->recorder,
                                              .shift = config->shift,
                                              .hooks = {daemon, agree_send, mu_daemon_lease,
                                                        mu_daemon_announce, agree_dead,
                                                        agree_fenced, agree_fault}};
    failed = mu_agreements_open(&agreements, &daemon->agreements);
    if (failed != 0)
        return say(text, "cannot prepare agreements", failed);

    struct mu_views_config views = {.loop = &daemon->loop,
                                    .roll = &daemon->roll,
                                    .cluster = orders->machine,
                                    .shift = VIEW_SHIFT,
                                    .partition = MU_VIEW_ANY,
                                    .clock = daemon->clock,
                                    .hooks = {daemon, agree_send, mu_daemon_lease, agree_dead,
                                              mu_daemon_view_installed, mu_daemon_view_told,
                                              view_stopped, agree_fault}};
    failed = mu_views_open(&views, &daemon->views);
    if (failed != 0)
        return say(text, "cannot prepare views", failed);

    struct mu_jobs_config jobs = {
        .net = &daemon->net,
        .clock = daemon->clock,
        .shared_host = orders->shared_host,
        .processes = PROCESSES_MAX,
        .socket = mu_notify_name(daemon->notify),
        .hooks = {daemon, mu_daemon_job_begin, mu_daemon_pmix_hold, mu_daemon_pmix_env,
                  mu_daemon_pmix_usual_env, mu_daemon_pmix_env_free, mu_daemon_started,
                  mu_daemon_ended, mu_daemon_job_over, mu_daemon_gather, mu_daemon_pmix_spawned,
                  mu_daemon_reached, mu_daemon_alive_ns, job_declared, mu_daemon_owes,
                  mu_daemon_dead}};
    failed = mu_jobs_open(&jobs, &daemon->jobs);
    if (failed != 0)
        return say(text, "cannot prepare to start processes", failed);

    if (config->pmix && !mu_daemon_pmix_open(daemon))
        return say(text, "cannot prepare for PMIx", ENOMEM);

    struct mu_config core;
    mu_config_default(&core, orders->size, orders->slot);
    core.incarnation = self.incarnation;
    if (config->notices != 0)
        core.limits.notices = config->notices;
    if (config->retain_s != 0)
        core.retain_ns = config->retain_s * UINT64_C(1000000000);
    core.ack_delay_ns = ACK_DELAY_MS * UINT64_C(1000000);
    assert(mu_config_error(&core) == NULL);
    failed = mu_drive_open(&daemon->loop, &core, daemon, &daemon->drive);
    if (failed != 0)
        return say(text, "cannot set up the node", failed);

    daemon->door.member = on_member;
    daemon->door.owner = daemon;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = orders->listen};
    failed = mu_daemon_ring_listen(daemon, &address);
    if (failed != 0)
        return say(text, "cannot open the socket for heartbeats", failed);
    failed = mu_door_open(&daemon->door, &daemon->net, &address);
    if (failed != 0)
        return say(text, "cannot listen", failed);
    return NULL;
}

static void on_lifeline(uv_poll_t *poll, int status, int events)
{
    (void)events;
    struct mu_daemon *daemon = poll->data;
    if (status >= 0 && mu_orders_lifeline(daemon->input))
        return;
    uv_poll_stop(poll);
    if (!daemon->input->end_said)
        mu_tell("lost the launcher; stopping this node");
    end(daemon, GRACE_MS);
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    end(handle->data, GRACE_MS);
}

static void listen_to_our_master(struct mu_daemon *daemon)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        uv_signal_init(&daemon->loop, &daemon->signals[i]);
        daemon->signals[i].data = daemon;
        uv_signal_start(&daemon->signals[i], on_signal, numbers[i]);
    }
    daemon->lifeline.data = daemon;
    uv_poll_start(&daemon->lifeline, UV_READABLE | UV_DISCONNECT, on_lifeline);
}

struct mu_daemon *mu_daemon_open(const struct mu_daemon_config *config, char *text)
{
    struct mu_daemon *daemon = calloc(1, sizeof *daemon);
    if (daemon == NULL || uv_loop_init(&daemon->loop) != 0) {
        free(daemon);
        say(text, "cannot make a loop", ENOMEM);
        return NULL;
    }
    daemon->clock = clock_number();
    daemon->shared_host = config->orders->shared_host;
    daemon->period_ns = config->orders->period_ns;
    daemon->timeout_ns = config->orders->timeout_ns;
    daemon->started_ns = mu_now_ns();
    daemon->undecided = MU_SLOT_NONE;
    daemon->answers = config->answers;
    daemon->waiting_end = &daemon->waiting;
    snprintf(daemon->name, sizeof daemon->name, "%s", config->orders->name);
    if (open_parts(daemon, config, text) != NULL)
        return NULL;
    daemon->input = config->lifeline;
    mu_daemon_witness_open(daemon, config->witness);
    uv_timer_init(&daemon->loop, &daemon->ended_timer);
    uv_timer_init(&daemon->loop, &daemon->waiting_timer);
    uv_timer_init(&daemon->loop, &daemon->ring_timer);
    uv_timer_init(&daemon->loop, &daemon->bye_timer);
    daemon->bye_timer.data = daemon;
    uv_timer_init(&daemon->loop, &daemon->abort_timer);
    mu_daemon_chaos_open(daemon);
    daemon->ended_timer.data = daemon->waiting_timer.data = daemon->ring_timer.data =
        daemon->abort_timer.data = daemon;
    return daemon;
}

struct sockaddr_in mu_daemon_address(const struct mu_daemon *daemon)
{
    return daemon->door.address;
}

const char *mu_daemon_start(struct mu_daemon *daemon, const struct sockaddr_in *addresses,
                            char *text)
{
    /* From here on the lifeline does not block: so not before the last line was read from it. */
    int failed = uv_poll_init(&daemon->loop, &daemon->lifeline, daemon->input->fd);
    if (failed != 0)
        return say(text, "cannot wait for the end of the orders, which must come from a pipe",
                   -failed);
    listen_to_our_master(daemon);
    const struct mu_peers_hooks hooks = {.owner = daemon,
                                         .has = mu_drive_has,
                                         .up = mu_drive_up,
                                         .down = mu_drive_down,
                                         .frame = mu_drive_frame,
                                         .agree = peer_agrees,
                                         .view = peer_views,
                                         .broke = peer_broke,
                                         .fenced = peer_fenced,
                                         .left = peer_left};
    daemon->addresses = addresses;
    daemon->peers = mu_peers_open(&daemon->net, addresses, &hooks);
    if (daemon->peers == NULL)
        abort();
    const struct mu_exchanges_config exchanges = {
        .net = &daemon->net,
        .roll = &daemon->roll,
        .recorder = daemon->recorder,
        .addresses = addresses,
        .shift = EXCHANGE_SHIFT,
        .hooks = {daemon, mu_daemon_pmix_asked, peer_fenced, mu_daemon_lease}};
    failed = mu_exchanges_open(&exchanges, &daemon->exchanges);
    if (failed != 0)
        return say(text, "cannot prepare exchanges", failed);
    mu_pmix_loader_nodes(daemon->pmix, addresses);
    mu_drive_start(daemon->drive);
    mu_views_start(daemon->views);
    failed = mu_daemon_ring_start(daemon, addresses);
    if (failed != 0)
        return say(text, "cannot start the heartbeat thread", failed);
    mu_daemon_settle(daemon);
    return NULL;
}

/* ---- end ---- */

static void close_handle(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* No process is left: say goodbye.  Connections close by themselves, and then the loop ends. */
static void on_all_over(void *owner)
{
    struct mu_daemon *daemon = owner;
    mu_daemon_ring_close(daemon);
    mu_door_close(&daemon->door);
    /* Who goes alone takes its processes along, and the others are to know: no goodbye.  Its
     * witness tells them when it has ended.  Until then, as long as a last word takes, it beats:
     * else they would find it silent first. */
    if (daemon->input->end_said) {
        mu_daemon_ring_stop(daemon);
        mu_daemon_witness_leave(daemon);
    }
    mu_peers_leave(daemon->peers, daemon->input->end_said);
    mu_peers_close(daemon->peers);
    mu_exchanges_leave(daemon->exchanges, daemon->input->end_said);
    mu_jobs_close(daemon->jobs);
    mu_pmix_loader_close(daemon->pmix);
    mu_notify_close(daemon->notify);
    mu_agreements_close(daemon->agreements);
    mu_views_close(daemon->views);
    mu_exchanges_close(daemon->exchanges);
    mu_drive_close(daemon->drive);
    mu_recorder_stop(daemon->recorder);
    mu_daemon_witness_close(daemon);
    mu_daemon_forget_ended(daemon, 0);
    mu_daemon_forget_waiting(daemon, 0);
    close_handle(&daemon->lifeline);
    close_handle(&daemon->ended_timer);
    close_handle(&daemon->waiting_timer);
    close_handle(&daemon->ring_timer);
    close_handle(&daemon->bye_timer);
    close_handle(&daemon->abort_timer);
    mu_daemon_chaos_close(daemon);
    for (size_t i = 0; i < sizeof daemon->signals / sizeof daemon->signals[0]; i++)
        close_handle(&daemon->signals[i]);
}

static void end(struct mu_daemon *daemon, uint32_t grace_ms)
{
    if (daemon->ending)
        return;
    daemon->ending = true;
    mu_daemon_chaos_end(daemon); /* the end is to be heard */
    mu_tell("ends");
    if (daemon->fenced)
        mu_jobs_leave(daemon->jobs); /* they were lost with the node, before we end them */
    mu_jobs_stop_all(daemon->jobs, grace_ms, on_all_over);
}

int mu_daemon_run(struct mu_daemon *daemon)
{
    uv_run(&daemon->loop, UV_RUN_DEFAULT);
    mu_daemon_ring_stop(daemon);
    int failed = mu_recorder_close(daemon->recorder);
    if (failed != 0)
        mu_warn("the recording is not complete: %s", strerror(failed));
    failed = uv_loop_close(&daemon->loop);
    assert(failed == 0); /* every handle was closed */
    mu_net_free(&daemon->net);
    mu_roll_close(&daemon->roll);
    int code = daemon->exit_code;
    free(daemon);
    return code;
}
