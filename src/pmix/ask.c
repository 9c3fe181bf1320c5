/* Questions of the modules of other nodes, and of this one. */
#include "pmix/inside.h"

#include <string.h>

static void refuse(struct mu_pmix *pmix, void *ticket)
{
    pmix->config.host.answer(pmix->config.host.owner, ticket, NULL, 0);
}

/* As publish.c writes it.  False: it breaks a rule. */
static bool read_kept(struct mu_reader *reader, struct mu_kept_question *question)
{
    question->flag = mu_read_u8(reader) != 0;
    question->by = mu_read_u32(reader);
    question->rank = mu_read_u32(reader);
    question->wait_s = mu_read_u32(reader);
    size_t left = mu_reader_left(reader);
    const uint8_t *rest = mu_read_bytes(reader, left);
    size_t length = rest != NULL ? strnlen((const char *)rest, left) : left;
    if (reader->bad || length == left)
        return false;
    question->key = (const char *)rest;
    question->bytes = rest + length + 1;
    question->count = left - length - 1;
    return true;
}

void mu_ask_asked(struct mu_pmix *pmix, uint32_t job, const uint8_t *bytes, size_t count,
                  void *ticket)
{
    struct mu_space *space = mu_space_find(pmix, job);
    struct mu_kept_question question = {.job = job};
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, count);
    uint8_t kind = mu_read_u8(&reader);
    if (space == NULL || reader.bad)
        refuse(pmix, ticket);
    else if (kind == MU_ASK_MODEX)
        mu_modex_asked(pmix, space, &reader, ticket);
    else if (kind >= MU_ASK_PUBLISH && kind <= MU_ASK_UNPUBLISH && read_kept(&reader, &question))
        mu_keep_asked(pmix, (enum mu_ask_kind)kind, &question, ticket);
    else
        refuse(pmix, ticket);
}
