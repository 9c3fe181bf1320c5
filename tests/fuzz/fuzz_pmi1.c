/* PMI-1: any bytes are lines that keep the rules, or one sentence each; any bytes of another node
 * are pairs, or a rule that they break. */
#include "daemon/pmi/space.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(struct mu_pmi1_text text, size_t least, size_t below, const char *line,
                       size_t count)
{
    assert(text.at >= line && text.at + text.count <= line + count);
    assert(text.count >= least && text.count < below);
    assert(memchr(text.at, ' ', text.count) == NULL);
}

/* A line in a block of its own, so that a byte too far is seen. */
static void look_at(const uint8_t *data, size_t count, struct mu_pmi1_space *space)
{
    struct mu_pmi1_line parsed;
    struct mu_pmi1_text value;
    char text[MU_PMI1_TEXT_MAX], *line = malloc(count > 0 ? count : 1);
    if (line == NULL)
        abort();
    if (count > 0)
        memcpy(line, data, count);
    const char *wrong = mu_pmi1_parse(line, count, &parsed, text);
    assert(wrong == NULL || (strlen(wrong) > 0 && strlen(wrong) < sizeof text));
    bool has_pair = parsed.command == MU_PMI1_PUT || parsed.command == MU_PMI1_GET;
    if (wrong == NULL && has_pair) {
        check_text(parsed.kvsname, 1, MU_PMI1_NAME_MAX, line, count);
        check_text(parsed.key, 1, MU_PMI1_KEY_MAX, line, count);
    }
    if (wrong == NULL && parsed.command == MU_PMI1_PUT) {
        check_text(parsed.value, 0, MU_PMI1_VALUE_MAX, line, count);
        bool was_there = mu_pmi1_get(space, parsed.key, &value);
        assert((mu_pmi1_put(space, parsed.key, parsed.value) != NULL) == was_there);
        assert(mu_pmi1_get(space, parsed.key, &value));
        assert(was_there || (value.count == parsed.value.count &&
                             memcmp(value.at, parsed.value.at, value.count) == 0));
    }
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mu_pmi1_space *space = mu_pmi1_space_open(), *other = mu_pmi1_space_open();
    size_t begin = 0, count;
    if (space == NULL || other == NULL)
        abort();
    for (size_t i = 0; i < size; i++)
        if (data[i] == '\n') {
            look_at(data + begin, i - begin, space);
            begin = i + 1;
        }
    look_at(data + begin, size - begin, space);
    /* What one node has to say is good for another one; what we were given need not be. */
    const uint8_t *news = mu_pmi1_news(space, &count);
    assert(mu_pmi1_merge(other, news, count) == NULL);
    mu_pmi1_merge(other, data, size);
    mu_pmi1_space_close(space);
    mu_pmi1_space_close(other);
    return 0;
}
