#include "launch/machine.h"

#include "core/base/roster.h"
#include "launch/agent.h"
#include "launch/bring_up.h"
#include "launch/child.h"
#include "host/scratch.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHILD_EXIT_FENCED = 3 }; /* of musterd(8): the other nodes have declared this one */

enum machine_state {
    STARTING, /* daemons say where they listen */
    LINKING,  /* they know of each other, and connect */
    READY,
    ENDING,    /* their lifelines are closed */
    LINGERING, /* all have ended; connections are closing */
    GONE,
};

struct node {
    struct child child;
    struct machine *machine;
    mu_slot slot;
    bool started; /* there is a child, or was */
    bool listening, ready;
    pid_t daemon;  /* from 'listening' on, where it is on this host; else 0 */
    int daemon_fd; /* the same; -1: none */
    char name[MU_ORDERS_NAME_MAX + 1];
};

struct machine {
    struct machine_config config;
    char musterd[PATH_MAX];
    struct agent agent; /* with hosts */
    enum machine_state state;
    uint64_t id;
    uint8_t key[MU_SEAL_KEY_BYTES];
    bool has_key;
    struct mu_net net;
    struct node *nodes;
    struct sockaddr_in *addresses; /* by slot */
    uint32_t listening, ready;
    uint32_t alive; /* daemons that have not ended */
    uint32_t open;  /* children and handles that are not closed yet */
    uint32_t jobs;  /* numbers given out */
    bool has_failed;
    char failure[MACHINE_TEXT_MAX];
    uint64_t end_ms;      /* ENDING: when patience ends */
    uv_timer_t timer;     /* of the bring-up, then of the end */
    uv_prepare_t lingers; /* LINGERING: looks for open connections each time around */
};

/* ---- the end ---- */

/* What a daemon that was killed could not remove.  Files on other hosts wait for the next daemon.
 */
static void remove_files(const struct machine *machine, mu_slot slot)
{
    if (machine->config.pmix && machine->config.hosts == NULL)
        mu_scratch_remove(machine->id, slot);
}

static void closed_one(struct machine *machine)
{
    if (--machine->open > 0)
        return;
    machine->state = GONE;
    for (uint32_t i = 0; i < machine->config.nodes; i++)
        remove_files(machine, i); /* its processes may have lived on for a moment */
    if (machine->config.hooks.gone != NULL)
        machine->config.hooks.gone(machine->config.hooks.owner);
}

static void on_handle_closed(uv_handle_t *handle)
{
    closed_one(handle->data);
}

static void on_child_closed(struct child *child)
{
    struct node *node = child->owner;
    closed_one(node->machine);
}

static void close_all(struct machine *machine)
{
    for (uint32_t i = 0; i < machine->config.nodes; i++)
        if (machine->nodes[i].started)
            child_close(&machine->nodes[i].child);
    uv_close((uv_handle_t *)&machine->timer, on_handle_closed);
    uv_close((uv_handle_t *)&machine->lingers, on_handle_closed);
}

static void on_linger(uv_prepare_t *prepare)
{
    struct machine *machine = prepare->data;
    if (machine->net.open > 0)
        return;
    uv_prepare_stop(prepare);
    close_all(machine);
}

static void look_for_the_end(struct machine *machine)
{
    if (machine->state != ENDING || machine->alive > 0)
        return;
    machine->state = LINGERING;
    uv_timer_stop(&machine->timer);
    uv_prepare_start(&machine->lingers, on_linger);
}

static void signal_all(struct machine *machine, int number)
{
    for (uint32_t i = 0; i < machine->config.nodes; i++)
        if (machine->nodes[i].started)
            child_signal(&machine->nodes[i].child, number);
}

static void on_patience_over(uv_timer_t *timer)
{
    signal_all(timer->data, SIGKILL);
}

static void say_end(struct child *child)
{
    size_t count;
    char *text = bring_up_end(&count);
    child_write(child, text, count);
    child_hang_up(child);
}

void machine_end(struct machine *machine, uint32_t patience_ms)
{
    uint64_t until_ms = uv_now(machine->config.loop) + patience_ms;
    if (machine->state > ENDING || (machine->state == ENDING && until_ms >= machine->end_ms))
        return;
    for (uint32_t i = 0; i < machine->config.nodes && machine->state != ENDING; i++)
        if (machine->nodes[i].started)
            say_end(&machine->nodes[i].child);
    machine->state = ENDING;
    machine->end_ms = until_ms;
    if (patience_ms == 0)
        signal_all(machine, SIGKILL);
    uv_timer_start(&machine->timer, on_patience_over, patience_ms, 0);
    look_for_the_end(machine);
}

/* ---- bring-up ---- */

__attribute__((format(printf, 2, 3))) static void fail(struct machine *machine, const char *format,
                                                       ...)
{
    if (machine->has_failed || machine->state > LINKING)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(machine->failure, sizeof machine->failure, format, arguments);
    va_end(arguments);
    machine->has_failed = true;
    machine_end(machine, MACHINE_PATIENCE_MS);
    if (machine->config.hooks.failed != NULL)
        machine->config.hooks.failed(machine->config.hooks.owner, machine->failure);
}

static void on_bring_up_late(uv_timer_t *timer)
{
    struct machine *machine = timer->data;
    for (uint32_t i = 0; i < machine->config.nodes; i++) {
        const struct node *node = &machine->nodes[i];
        if (machine->state == STARTING ? !node->listening : !node->ready)
            fail(machine, "node %u (%s) %s within %d s; the cluster was stopped", i, node->name,
                 machine->state == STARTING ? "did not start" : "did not connect to its neighbors",
                 MACHINE_BRING_UP_MS / 1000);
    }
}

/* Everybody learns where everybody is. */
static void introduce(struct machine *machine)
{
    machine->state = LINKING;
    for (uint32_t i = 0; i < machine->config.nodes; i++) {
        size_t count;
        char *text = bring_up_where(machine->addresses, machine->config.nodes, &count);
        child_write(&machine->nodes[i].child, text, count);
    }
}

/* Our child is its witness. */
static void hold_daemon(struct node *node, pid_t daemon)
{
    if (node->machine->config.hosts != NULL)
        return;
    node->daemon = daemon;
    node->daemon_fd = (int)syscall(SYS_pidfd_open, daemon, 0);
}

static void on_line(struct child *child, const char *line)
{
    struct node *node = child->owner;
    struct machine *machine = node->machine;
    pid_t daemon;
    if (machine->state > LINKING)
        return;
    if (strncmp(line, "failed ", 7) == 0) {
        fail(machine, "node %u (%s): %s", node->slot, node->name, line + 7);
    } else if (machine->state == STARTING && !node->listening &&
               bring_up_listening(line, &machine->addresses[node->slot], &daemon)) {
        node->listening = true;
        hold_daemon(node, daemon);
        if (++machine->listening == machine->config.nodes)
            introduce(machine);
    } else if (machine->state == LINKING && !node->ready && strcmp(line, "ready") == 0) {
        node->ready = true;
        if (++machine->ready < machine->config.nodes)
            return;
        machine->state = READY;
        uv_timer_stop(&machine->timer);
        if (machine->config.hooks.ready != NULL)
            machine->config.hooks.ready(machine->config.hooks.owner);
    } else {
        fail(
            machine,
            "node %u (%s): unexpected message '%.80s' from its daemon (is it of the same version?)",
            node->slot, node->name, line);
    }
}

/* "exited with code 255", "killed by SIGKILL" */
static const char *end_text(const struct mu_exit_kind *how, char *text, size_t room)
{
    if (how->type == MU_EXIT_CODE || how->type == MU_EXIT_LEFT)
        snprintf(text, room, "exited with code %d", mu_exit_kind_code(how));
    else
        mu_exit_kind_text(how, NULL, text, room);
    return text;
}

/* Of a daemon on another host we know what its agent knows. */
static void say_ended(const struct machine *machine, const struct mu_exit_kind *how,
                      char text[MACHINE_TEXT_MAX])
{
    char ending[128];
    end_text(how, ending, sizeof ending);
    if (how->type == MU_EXIT_CODE && how->code == CHILD_EXIT_FENCED)
        snprintf(text, MACHINE_TEXT_MAX, "declared failed by its peers");
    else if (machine->config.hosts == NULL)
        snprintf(text, MACHINE_TEXT_MAX, "daemon %s", ending);
    else
        snprintf(text, MACHINE_TEXT_MAX, "launch agent '%.150s' %s", machine->config.agent, ending);
}

/* The same before it was ready, with what to do next. */
static void fail_ended(struct machine *machine, const struct node *node,
                       const struct mu_exit_kind *how)
{
    char ending[128];
    const char *agent = machine->config.agent, *name = node->name;
    bool missing =
        !node->listening && how->type == MU_EXIT_CODE && how->code == AGENT_EXIT_NOT_FOUND;
    end_text(how, ending, sizeof ending);
    if (machine->config.hosts == NULL)
        fail(machine, "cannot start the daemon of node %u (%s): it %s", node->slot, name, ending);
    else if (missing)
        fail(machine,
             "cannot start a daemon on %s: '%.120s %s' %s; nothing was started\n"
             "        Install muster there at the same path: %.150s",
             name, agent, name, ending, machine->musterd);
    else
        fail(machine,
             "cannot start a daemon on %s: '%.120s %s' %s; the other nodes were stopped\n"
             "        Try it by hand: %.120s %s true",
             name, agent, name, ending, agent, name);
}

static void on_ended(struct child *child, const struct mu_exit_kind *how)
{
    struct node *node = child->owner;
    struct machine *machine = node->machine;
    char text[MACHINE_TEXT_MAX];
    say_ended(machine, how, text);
    machine->alive--;
    remove_files(machine, node->slot);
    if (machine->state == READY && machine->config.hooks.lost != NULL)
        machine->config.hooks.lost(machine->config.hooks.owner, node->slot, text);
    fail_ended(machine, node, how);
    look_for_the_end(machine);
}

static const struct child_hooks child_hooks = {on_line, on_ended, on_child_closed};

/* ---- the beginning ---- */

static int start_daemon(struct machine *machine, struct node *node)
{
    char record[PATH_MAX], fanout[16];
    const char *argv[AGENT_WORDS_MAX + 9];
    size_t count = machine->agent.count;
    memcpy(argv, machine->agent.words, count * sizeof *argv);
    if (count > 0)
        argv[count++] = node->name;
    argv[count++] = machine->musterd;
    if (!machine->config.pmix)
        argv[count++] = "--no-pmix";
    if (machine->config.verbose)
        argv[count++] = "--verbose";
    if (machine->config.record_dir != NULL) {
        snprintf(record, sizeof record, "%s/node-%u", machine->config.record_dir, node->slot);
        argv[count++] = "--record";
        argv[count++] = record;
    }
    if (machine->config.fanout != 0) {
        snprintf(fanout, sizeof fanout, "%u", machine->config.fanout);
        argv[count++] = "--fanout";
        argv[count++] = fanout;
    }
    argv[count] = NULL;
    const struct child_kind kind = {.is_mute = machine->config.is_mute,
                                    .has_witness = machine->config.hosts == NULL};
    int error = child_start(&node->child, machine->config.loop, argv, &kind, &child_hooks, node);
    if (error != 0)
        return error;
    node->started = true;
    machine->alive++;
    machine->open++;
    size_t size;
    struct mu_orders orders = {.machine = machine->id,
                               .size = machine->config.nodes,
                               .slot = node->slot,
                               .listen = machine->addresses[node->slot].sin_addr,
                               .period_ns = machine->config.period_ns,
                               .timeout_ns = machine->config.timeout_ns,
                               .shared_host = machine_shares_host(machine)};
    memcpy(orders.key, machine->key, sizeof orders.key);
    memcpy(orders.name, node->name, sizeof orders.name);
    char *text = bring_up_first(&orders, &size);
    mu_orders_wipe(&orders);
    child_write(&node->child, text, size);
    return 0;
}

static void on_not_started(uv_timer_t *timer)
{
    struct machine *machine = timer->data;
    char text[MACHINE_TEXT_MAX];
    snprintf(text, sizeof text, "%s", machine->failure);
    fail(machine, "%s", text);
}

static void start_daemons(struct machine *machine)
{
    bool by_agent = machine->agent.count > 0;
    for (uint32_t i = 0; i < machine->config.nodes; i++) {
        struct node *node = &machine->nodes[i];
        int error = start_daemon(machine, node);
        if (error == 0)
            continue;
        snprintf(machine->failure, sizeof machine->failure,
                 "node %u (%s): cannot start its %s %.300s: %s", i, node->name,
                 by_agent ? "launch agent" : "daemon",
                 by_agent ? machine->agent.words[0] : machine->musterd, strerror(error));
        uv_timer_start(&machine->timer, on_not_started, 0, 0);
        return;
    }
    uv_timer_start(&machine->timer, on_bring_up_late, MACHINE_BRING_UP_MS, 0);
}

static bool draw(struct machine *machine)
{
    if (sodium_init() < 0)
        return false;
    while (machine->id == 0)
        randombytes_buf(&machine->id, sizeof machine->id);
    randombytes_buf(machine->key, sizeof machine->key);
    machine->has_key = true;
    struct mu_hello self = {.machine = machine->id,
                            .size = machine->config.nodes,
                            .from = machine->config.nodes, /* the launcher has no slot */
                            .incarnation = MU_INCARNATION_FOUNDER};
    return mu_net_init(&machine->net, machine->config.loop, &self, machine->key) == 0;
}

/* What is on other hosts is found out there. */
static bool find_daemon(const struct machine_config *config, struct machine *machine,
                        char text[MACHINE_TEXT_MAX])
{
    int error = bring_up_find(config->musterd, machine->musterd);
    const char *wrong = NULL;
    if (config->hosts == NULL) {
        if (error != 0)
            snprintf(text, MACHINE_TEXT_MAX, "cannot start the daemon %.300s: %s", machine->musterd,
                     strerror(error));
        return error == 0;
    }
    if ((wrong = agent_split(&machine->agent, config->agent)) != NULL)
        snprintf(text, MACHINE_TEXT_MAX, "--agent is '%.300s', but %s", config->agent, wrong);
    else if ((wrong = agent_path_error(machine->musterd)) != NULL)
        snprintf(text, MACHINE_TEXT_MAX, "the daemon is '%.300s', but %s", machine->musterd, wrong);
    else if (config->record_dir != NULL && (wrong = agent_path_error(config->record_dir)) != NULL)
        snprintf(text, MACHINE_TEXT_MAX, "--record is '%.300s', but %s", config->record_dir, wrong);
    return wrong == NULL;
}

struct machine *machine_open(const struct machine_config *config, char text[MACHINE_TEXT_MAX])
{
    assert(config->nodes >= 1 && config->nodes <= MACHINE_NODES_MAX);
    assert(config->hosts == NULL || config->hosts->count == config->nodes);
    prctl(PR_SET_DUMPABLE, 0); /* the key will be in memory: no core file, no look from outside */
    struct machine *machine = calloc(1, sizeof *machine);
    if (machine != NULL) {
        if (!find_daemon(config, machine, text)) {
            free(machine);
            return NULL;
        }
        machine->config = *config;
        if (config->period_ns == 0) {
            machine->config.period_ns = MACHINE_PERIOD_NS;
            machine->config.timeout_ns = MACHINE_TIMEOUT_NS;
        }
        machine->nodes = calloc(config->nodes, sizeof *machine->nodes);
        machine->addresses = calloc(config->nodes, sizeof *machine->addresses);
    }
    if (machine == NULL || machine->nodes == NULL || machine->addresses == NULL || !draw(machine)) {
        snprintf(text, MACHINE_TEXT_MAX, "no memory for a cluster of %u nodes", config->nodes);
        if (machine != NULL) {
            free(machine->nodes);
            free(machine->addresses);
        }
        free(machine);
        return NULL;
    }
    uv_timer_init(config->loop, &machine->timer);
    uv_prepare_init(config->loop, &machine->lingers);
    machine->timer.data = machine->lingers.data = machine;
    machine->open = 2;
    for (uint32_t i = 0; i < config->nodes; i++) {
        struct node *node = &machine->nodes[i];
        node->machine = machine;
        node->slot = i;
        node->daemon_fd = -1;
        if (config->hosts != NULL) {
            memcpy(node->name, config->hosts->items[i].name, sizeof node->name);
            machine->addresses[i] = config->hosts->items[i].address;
        } else {
            snprintf(node->name, sizeof node->name, "node%u", i);
            bring_up_address(machine->id, i, &machine->addresses[i]);
        }
    }
    uv_update_time(config->loop);
    start_daemons(machine);
    return machine;
}

void machine_kill(struct machine *machine, mu_slot node)
{
    struct node *one = &machine->nodes[node];
    if (one->daemon_fd >= 0)
        syscall(SYS_pidfd_send_signal, one->daemon_fd, SIGKILL, NULL, 0);
    else if (one->started && machine->config.hosts != NULL)
        child_hang_up(&one->child); /* its agent may be its witness */
    else if (one->started)
        child_signal(&one->child, SIGKILL);
}

void machine_forget_key(struct machine *machine)
{
    sodium_memzero(machine->key, sizeof machine->key);
    sodium_memzero(machine->net.key, sizeof machine->net.key);
    machine->has_key = false;
}

void machine_free(struct machine *machine)
{
    if (machine == NULL)
        return;
    assert(machine->state == GONE);
    machine_forget_key(machine);
    mu_net_free(&machine->net);
    for (uint32_t i = 0; i < machine->config.nodes; i++)
        if (machine->nodes[i].daemon_fd >= 0)
            close(machine->nodes[i].daemon_fd);
    free(machine->nodes);
    free(machine->addresses);
    free(machine);
}

bool machine_wait_ready(struct machine *machine)
{
    while (machine->state < READY && uv_run(machine->config.loop, UV_RUN_ONCE) != 0)
        ;
    return machine->state == READY;
}

void machine_wait_gone(struct machine *machine)
{
    while (machine->state < GONE && uv_run(machine->config.loop, UV_RUN_ONCE) != 0)
        ;
}

/* ---- what it knows ---- */

uint64_t machine_id(const struct machine *machine)
{
    return machine->id;
}

_Static_assert((int)MU_ORDERS_KEY_BYTES == (int)MU_SEAL_KEY_BYTES, "the key of connections");

bool machine_shares_host(const struct machine *machine)
{
    return machine->config.hosts == NULL || hosts_share(machine->config.hosts);
}

uint32_t machine_nodes(const struct machine *machine)
{
    return machine->config.nodes;
}

bool machine_alive(const struct machine *machine, mu_slot node)
{
    return machine->nodes[node].started && !machine->nodes[node].child.ended;
}

uint32_t machine_alive_count(const struct machine *machine)
{
    return machine->alive;
}

pid_t machine_daemon(const struct machine *machine, mu_slot node)
{
    pid_t daemon = machine->nodes[node].daemon;
    return daemon != 0 ? daemon : machine->nodes[node].child.pid;
}

pid_t machine_child(const struct machine *machine, mu_slot node)
{
    return machine->nodes[node].child.pid;
}

const char *machine_name(const struct machine *machine, mu_slot node)
{
    return machine->nodes[node].name;
}

uv_loop_t *machine_loop(const struct machine *machine)
{
    return machine->config.loop;
}

struct mu_net *machine_net(struct machine *machine)
{
    assert(machine->has_key);
    return &machine->net;
}

const struct sockaddr_in *machine_address(const struct machine *machine, mu_slot node)
{
    return &machine->addresses[node];
}

uint32_t machine_next_job(struct machine *machine)
{
    return ++machine->jobs;
}
