/* The daemon and witnesses: its own, which it keeps up to date and misses when it is gone; and
 * those of other daemons, which have ended. */
#include "daemon/inside.h"
#include "host/clock.h"
#include "host/log.h"
#include "wire/peer/word.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- its own ---- */

static void on_gone(uv_poll_t *poll, int status, int events)
{
    struct mu_daemon *daemon = poll->data;
    (void)status;
    (void)events;
    daemon->witness.pid = 0;
    uv_close((uv_handle_t *)poll, NULL);
    if (!daemon->ending)
        mu_warn("the witness of this daemon is gone (it was killed, or ran out of memory): if the "
                "daemon fails, other nodes find out by its silence");
}

void mu_daemon_witness_open(struct mu_daemon *daemon, const struct mu_witness *witness)
{
    daemon->witness_poll.data = daemon;
    if (witness == NULL)
        return;
    daemon->witness = *witness;
    if (uv_poll_init(&daemon->loop, &daemon->witness_poll, witness->pidfd) != 0)
        return;
    daemon->witness_polled = true;
    uv_poll_start(&daemon->witness_poll, UV_READABLE, on_gone);
}

void mu_daemon_witness_links(struct mu_daemon *daemon)
{
    if (daemon->witness.pid == 0 || daemon->peers == NULL)
        return;
    struct mu_witness_list list = {.leaving = false};
    mu_slot slots[MU_WITNESS_NEIGHBOURS];
    list.count = mu_peers_onward(daemon->peers, slots, MU_WITNESS_NEIGHBOURS);
    for (uint32_t i = 0; i < list.count; i++)
        list.at[i] = (struct mu_witness_neighbour){slots[i], daemon->addresses[slots[i]]};
    mu_witness_page_write(daemon->witness.page, &list);
}

void mu_daemon_witness_leave(struct mu_daemon *daemon)
{
    if (daemon->witness.pid != 0)
        mu_witness_page_write(daemon->witness.page, &(struct mu_witness_list){.leaving = true});
}

/* ---- those of others ---- */

struct mu_daemon_word {
    struct mu_daemon *daemon;
    struct mu_conn *conn;
    struct mu_daemon_word *next, **link;
};

static void forget(struct mu_daemon_word *word)
{
    *word->link = word->next;
    if (word->next != NULL)
        word->next->link = word->link;
    free(word);
}

static struct mu_evidence evidence_of(const struct mu_daemon *daemon, mu_slot node,
                                      const struct mu_exit_kind *how, uint64_t age_ns)
{
    uint64_t now_ns = mu_now_ns();
    return (struct mu_evidence){
        .verdict = MU_VERDICT_DEAD,
        .cause = MU_CAUSE_WITNESS,
        .seen_by = daemon->net.self.from,
        .node = node,
        .how = *how,
        .seen_ns = now_ns > age_ns ? now_ns - age_ns : 0,
        .clock = daemon->clock,
    };
}

/* All three that are told post it, unless they have heard it meanwhile. */
static void post_gone(struct mu_daemon *daemon, const struct mu_hello *who,
                      const struct mu_word *word)
{
    if (mu_daemon_gone_of(daemon, who->from) != NULL)
        return;
    mu_daemon_post_gone(daemon, who->from, who->incarnation, &word->how);
}

static void on_word(struct mu_daemon *daemon, const struct mu_hello *who,
                    const struct mu_word *word)
{
    struct mu_evidence evidence = evidence_of(daemon, who->from, &word->how, word->age_ns);
    mu_tell("the witness of node %" PRIu32 " says that %s", who->from,
            word->type == MU_WORD_DEAD ? "its daemon has ended" : "its processes are gone");
    if (word->type == MU_WORD_DEAD)
        mu_daemon_node_ended(daemon, who->incarnation, &evidence);
    else
        post_gone(daemon, who, word);
    mu_daemon_settle(daemon);
}

static void word_open(struct mu_conn *conn)
{
    (void)conn; /* it speaks first */
}

static void word_frame(struct mu_conn *conn, const uint8_t *bytes, size_t count)
{
    struct mu_daemon_word *from = mu_conn_owner(conn);
    struct mu_daemon *daemon = from->daemon;
    struct mu_word word;
    const char *rule = mu_word_decode(bytes, count, &word);
    if (rule == NULL && word.type == MU_WORD_HEARD)
        rule = "a witness says what it saw, and hears nothing";
    if (rule != NULL) {
        daemon->net.bad[MU_SEAL_CLASS_MALFORMED]++;
        mu_conn_refuse(conn, MU_REFUSE_FORMAT, rule);
        forget(from);
        return;
    }
    uint8_t answer[MU_WORD_BYTES_MAX];
    struct mu_word heard = {.type = MU_WORD_HEARD, .heard = word.type};
    mu_conn_send(conn, answer, mu_word_encode(&heard, answer));
    struct mu_hello who = *mu_conn_peer(conn);
    on_word(daemon, &who, &word);
}

static void word_closed(struct mu_conn *conn, const struct mu_conn_end *end)
{
    (void)end;
    forget(mu_conn_owner(conn));
}

static const struct mu_conn_hooks hooks = {
    .known = NULL, .open = word_open, .frame = word_frame, .closed = word_closed};

void mu_daemon_witness_member(struct mu_daemon *daemon, struct mu_conn *conn)
{
    struct mu_daemon_word *word = malloc(sizeof *word);
    if (word == NULL) {
        mu_conn_drop(conn); /* it tries another node */
        return;
    }
    *word = (struct mu_daemon_word){daemon, conn, daemon->words, &daemon->words};
    if (word->next != NULL)
        word->next->link = &word->next;
    daemon->words = word;
    mu_conn_hand_over(conn, &hooks, word);
    mu_conn_accept(conn, 0);
}

/* ---- whose processes are gone ---- */

const struct mu_daemon_gone *mu_daemon_gone_of(const struct mu_daemon *daemon, mu_slot node)
{
    for (uint32_t i = 0; i < daemon->gone_count; i++)
        if (daemon->gone[i].node == node)
            return &daemon->gone[i];
    return NULL;
}

void mu_daemon_gone(struct mu_daemon *daemon, const struct mu_news *news, uint64_t now_ns,
                    uint64_t age_ns)
{
    mu_slot node = news->gone.node;
    if (node >= daemon->net.self.size || mu_daemon_gone_of(daemon, node) != NULL)
        return;
    if (daemon->gone == NULL)
        daemon->gone = calloc(daemon->net.self.size, sizeof *daemon->gone);
    if (daemon->gone == NULL)
        return; /* nothing but an explanation is lost */
    daemon->gone[daemon->gone_count++] =
        (struct mu_daemon_gone){node, now_ns > age_ns ? now_ns - age_ns : 0};
    mu_tell("no process of node %" PRIu32 " is left, says its witness", node);
}

bool mu_daemon_gone_next(void *owner, uint32_t i, struct mu_local_gone *gone)
{
    const struct mu_daemon *daemon = owner;
    if (i >= daemon->gone_count)
        return false;
    *gone = (struct mu_local_gone){.node = daemon->gone[i].node, .gone_ns = daemon->gone[i].ns};
    return true;
}

/* ---- the end ---- */

void mu_daemon_witness_close(struct mu_daemon *daemon)
{
    while (daemon->words != NULL) {
        mu_conn_drop(daemon->words->conn);
        forget(daemon->words);
    }
    free(daemon->gone);
    daemon->gone = NULL;
    daemon->gone_count = 0;
    if (daemon->witness_polled && !uv_is_closing((uv_handle_t *)&daemon->witness_poll))
        uv_close((uv_handle_t *)&daemon->witness_poll, NULL);
}
