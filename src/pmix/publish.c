/* Publish, lookup, unpublish: keys of a run, each kept at one node of those that host its first
 * job, which all compute from the key.  When that node dies, what it kept is gone. */
#include "pmix/inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- where a key is ---- */

static mu_slot keeper_of(const struct mu_pmix *pmix, const struct mu_space *space, const char *key)
{
    uint32_t at = (uint32_t)(mu_name_hash(key) % space->run_count);
    for (uint32_t i = 0; i < space->run_count; i++) {
        const struct mu_launch_run *run = &space->runs[(at + i) % space->run_count];
        if (!pmix->config.host.is_dead(pmix->config.host.owner, run->slot))
            return run->slot;
    }
    return space->runs[at].slot;
}

/* ---- who asks: on libpmix's thread, then on the loop ---- */

/* Of a question: where the asker's job is, and how long it is before the key. */
enum { QUESTION_JOB = 2, QUESTION_FIXED = 14 };

/* One key of a request. */
struct item {
    struct mu_pending pending;
    struct mu_pmix_wait wait;
    struct request *request;
    uint8_t *question;
    size_t count;
    const char *key; /* in the question */
    pmix_pdata_t found;
};

struct request {
    struct mu_upcall upcall;
    pmix_proc_t proc;
    pmix_op_cbfunc_t op_done;
    pmix_lookup_cbfunc_t lookup_done;
    void *data;
    pmix_status_t status;
    size_t left, item_count;
    struct item items[];
};

static void free_request(struct request *request)
{
    for (size_t i = 0; i < request->item_count; i++) {
        free(request->items[i].question);
        PMIX_PDATA_DESTRUCT(&request->items[i].found);
    }
    free(request);
}

/* What was not found is left out. */
static void finish_lookup(struct request *request)
{
    size_t found = 0;
    pmix_pdata_t *list = calloc(request->item_count, sizeof *list);
    for (size_t i = 0; list != NULL && i < request->item_count; i++)
        if (request->items[i].found.key[0] != '\0')
            list[found++] = request->items[i].found; /* still the item's */
    pmix_status_t status =
        found == request->item_count ? PMIX_SUCCESS
        : found > 0                  ? PMIX_ERR_PARTIAL_SUCCESS
        : request->status == PMIX_ERR_OUT_OF_RESOURCE || request->status == PMIX_ERR_TIMEOUT
            ? request->status
            : PMIX_ERR_NOT_FOUND;
    request->lookup_done(status, list, found, request->data);
    free(list);
}

static void item_done(struct item *item, pmix_status_t status)
{
    struct request *request = item->request;
    mu_pending_remove(&item->pending);
    if (status != PMIX_SUCCESS)
        request->status = status;
    if (--request->left > 0)
        return;
    if (request->lookup_done != NULL)
        finish_lookup(request);
    else
        request->op_done(request->status, request->data);
    free_request(request);
}

static void give_up(struct mu_pending *pending)
{
    size_t offset = offsetof(struct item, pending);
    item_done((struct item *)((char *)pending - offset), PMIX_ERR_JOB_TERMINATED);
}

/* Of a lookup: who published it, and the value. */
static void take_value(struct item *item, struct mu_reader *reader)
{
    uint32_t job = mu_read_u32(reader), rank = mu_read_u32(reader);
    size_t count = mu_reader_left(reader);
    pmix_data_buffer_t buffer;
    pmix_byte_object_t bytes = {.size = count};
    int32_t one = 1;
    bytes.bytes = malloc(count + 1);
    if (reader->bad || bytes.bytes == NULL) {
        free(bytes.bytes);
        return;
    }
    if (count > 0)
        memcpy(bytes.bytes, mu_read_bytes(reader, count), count);
    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    PMIx_Data_load(&buffer, &bytes);
    if (PMIx_Data_unpack(NULL, &buffer, &item->found.value, &one, PMIX_VALUE) == PMIX_SUCCESS) {
        PMIX_LOAD_KEY(item->found.key, item->key);
        mu_space_name(mu_pmix_open_one, job, item->found.proc.nspace);
        item->found.proc.rank = rank;
    }
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
}

static void on_answered(struct mu_pmix_wait *wait, const uint8_t *bytes, size_t count)
{
    size_t offset = offsetof(struct item, wait);
    struct item *item = (struct item *)((char *)wait - offset);
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, bytes != NULL ? count : 0);
    pmix_status_t status = (pmix_status_t)mu_read_u32(&reader);
    if (reader.bad)
        status = PMIX_ERR_UNREACH;
    else if (status == PMIX_SUCCESS && item->request->lookup_done != NULL)
        take_value(item, &reader);
    item_done(item, status);
}

static void run_request(struct mu_pmix *pmix, struct mu_upcall *upcall)
{
    struct request *request = (struct request *)upcall;
    const struct mu_pmix_host *host = &pmix->config.host;
    struct mu_space *space = mu_space_named(pmix, request->proc.nspace);
    struct mu_space *root = space != NULL ? mu_space_root(pmix, space) : NULL;
    size_t count = request->left = request->item_count;
    for (size_t i = 0; i < count; i++) {
        struct item *item = &request->items[i]; /* the last one that is done frees the request */
        item->wait.answered = on_answered;
        if (root == NULL) {
            item_done(item, PMIX_ERR_NOT_FOUND);
            continue;
        }
        struct mu_writer writer;
        mu_writer_init(&writer, item->question + QUESTION_JOB, 4);
        mu_write_u32(&writer, space->number);
        mu_pending_add(&root->pending, &item->pending, give_up);
        host->ask(host->owner, root->number, keeper_of(pmix, root, item->key), item->question,
                  item->count, &item->wait);
    }
}

/* What is asked besides the key. */
struct wish {
    enum mu_ask_kind kind;
    bool flag; /* as in a mu_kept_question */
    uint32_t rank, wait_s;
};

/* kind, flag, job (filled in on the loop), rank, how long to wait, key with NUL, and what follows.
 */
static bool write_question(struct item *item, const struct wish *wish, const char *key,
                           const char *bytes, size_t count)
{
    struct mu_writer writer;
    size_t room = QUESTION_FIXED + strlen(key) + 1 + count;
    item->question = malloc(room);
    if (item->question == NULL)
        return false;
    mu_writer_init(&writer, item->question, room);
    mu_write_u8(&writer, (uint8_t)wish->kind);
    mu_write_u8(&writer, wish->flag);
    mu_write_u32(&writer, 0);
    mu_write_u32(&writer, wish->rank);
    mu_write_u32(&writer, wish->wait_s);
    mu_write_bytes(&writer, key, strlen(key) + 1);
    if (count > 0)
        mu_write_bytes(&writer, bytes, count);
    item->key = (const char *)item->question + QUESTION_FIXED;
    item->count = writer.used;
    return true;
}

static bool write_publish(struct item *item, const pmix_proc_t *proc, const pmix_info_t *info,
                          bool read_once)
{
    pmix_data_buffer_t buffer;
    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    pmix_value_t *value = (pmix_value_t *)&info->value;
    const struct wish wish = {.kind = MU_ASK_PUBLISH, .flag = read_once, .rank = proc->rank};
    bool good = PMIx_Data_pack(NULL, &buffer, value, 1, PMIX_VALUE) == PMIX_SUCCESS &&
                write_question(item, &wish, info->key, buffer.base_ptr, buffer.bytes_used);
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
    return good;
}

static struct request *make_request(const pmix_proc_t *proc, size_t room, void *data)
{
    struct request *request = calloc(1, sizeof *request + room * sizeof request->items[0]);
    if (request == NULL)
        return NULL;
    request->upcall.run = run_request;
    request->proc = *proc;
    request->data = data;
    for (size_t i = 0; i < room; i++) {
        PMIX_PDATA_CONSTRUCT(&request->items[i].found);
        request->items[i].request = request;
    }
    return request;
}

static pmix_status_t hand_over(struct request *request, bool good)
{
    bool closing = mu_pmix_is_closing();
    if (good && request->item_count > 0 && !closing) {
        mu_upcall_put(&request->upcall);
        return PMIX_SUCCESS;
    }
    free_request(request);
    return closing ? PMIX_ERR_JOB_TERMINATED : good ? PMIX_ERR_BAD_PARAM : PMIX_ERR_NOMEM;
}

/* Directives come in the same list as what is published. */
static bool is_directive(const pmix_info_t *info)
{
    return PMIX_CHECK_KEY(info, PMIX_RANGE) || PMIX_CHECK_KEY(info, PMIX_PERSISTENCE) ||
           PMIX_CHECK_KEY(info, PMIX_USERID) || PMIX_CHECK_KEY(info, PMIX_GRPID) ||
           PMIX_CHECK_KEY(info, PMIX_TIMEOUT);
}

pmix_status_t mu_publish(const pmix_proc_t *proc, const pmix_info_t info[], size_t count,
                         pmix_op_cbfunc_t done, void *data)
{
    struct request *request = make_request(proc, count, data);
    bool good = true, read_once = false;
    if (request == NULL)
        return PMIX_ERR_NOMEM;
    request->op_done = done;
    for (size_t i = 0; i < count; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_PERSISTENCE))
            read_once = info[i].value.data.persist == PMIX_PERSIST_FIRST_READ;
    for (size_t i = 0; good && i < count; i++)
        if (!is_directive(&info[i]))
            good = write_publish(&request->items[request->item_count++], proc, &info[i], read_once);
    return hand_over(request, good);
}

static size_t count_of(char **keys)
{
    size_t count = 0;
    while (keys != NULL && keys[count] != NULL)
        count++;
    return count;
}

static pmix_status_t ask_for_keys(const struct wish *wish, const pmix_proc_t *proc, char **keys,
                                  pmix_op_cbfunc_t op_done, pmix_lookup_cbfunc_t lookup_done,
                                  void *data)
{
    size_t count = count_of(keys);
    struct request *request = make_request(proc, count, data);
    bool good = true;
    if (request == NULL)
        return PMIX_ERR_NOMEM;
    request->op_done = op_done;
    request->lookup_done = lookup_done;
    for (size_t i = 0; good && i < count; i++)
        good = write_question(&request->items[request->item_count++], wish, keys[i], NULL, 0);
    return hand_over(request, good);
}

pmix_status_t mu_lookup(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                        size_t count, pmix_lookup_cbfunc_t done, void *data)
{
    struct wish wish = {.kind = MU_ASK_LOOKUP, .rank = proc->rank};
    for (size_t i = 0; i < count; i++) {
        pmix_status_t status = PMIX_ERR_NOT_FOUND;
        int64_t seconds = 0;
        wish.flag = wish.flag || PMIX_CHECK_KEY(&info[i], PMIX_WAIT);
        if (PMIX_CHECK_KEY(&info[i], PMIX_TIMEOUT))
            PMIX_VALUE_GET_NUMBER(status, &info[i].value, seconds, int64_t);
        if (status == PMIX_SUCCESS && seconds > 0)
            wish.wait_s = seconds < UINT32_MAX ? (uint32_t)seconds : UINT32_MAX;
    }
    return ask_for_keys(&wish, proc, keys, NULL, done, data);
}

pmix_status_t mu_unpublish(const pmix_proc_t *proc, char **keys, pmix_op_cbfunc_t done, void *data)
{
    const struct wish wish = {.kind = MU_ASK_UNPUBLISH, .rank = proc->rank};
    return ask_for_keys(&wish, proc, keys, done, NULL, data);
}
