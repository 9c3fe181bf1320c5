/* What a process says by PMI-1: one line each, "cmd=put kvsname=A key=B value=C".
 *
 * A line is words between blanks, each NAME=VALUE of printable ASCII; the first name is cmd.  Names
 * that a command does not have are passed over, so that later clients may say more; of two with the
 * same name the line is refused.  Nothing is taken over by its length: 'count' is all there is. */
#ifndef MU_DAEMON_PMI_LINE_H
#define MU_DAEMON_PMI_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MU_PMI1_LINE_MAX = 4096, /* with its end */
    MU_PMI1_NAME_MAX = 256,  /* of a space; with a NUL, as the client counts, like those below */
    MU_PMI1_KEY_MAX = 64,
    MU_PMI1_VALUE_MAX = 1024,
    MU_PMI1_TEXT_MAX = 128, /* of a sentence */
};

enum mu_pmi1_command {
    MU_PMI1_INIT,
    MU_PMI1_GET_MAXES,
    MU_PMI1_GET_APPNUM,
    MU_PMI1_GET_MY_KVSNAME,
    MU_PMI1_GET_UNIVERSE_SIZE,
    MU_PMI1_PUT,
    MU_PMI1_GET,
    MU_PMI1_BARRIER_IN,
    MU_PMI1_FINALIZE,
    MU_PMI1_ABORT,
    MU_PMI1_PUBLISH, /* these four are answered, but not done */
    MU_PMI1_UNPUBLISH,
    MU_PMI1_LOOKUP,
    MU_PMI1_SPAWN, /* "mcmd=spawn": more lines follow, up to "endcmd" */
};

/* Part of the line. */
struct mu_pmi1_text {
    const char *at;
    size_t count;
};

struct mu_pmi1_line {
    enum mu_pmi1_command command;
    uint32_t version;            /* INIT */
    uint8_t exit_code;           /* ABORT: never 0, which would be no failure */
    struct mu_pmi1_text kvsname; /* PUT, GET */
    struct mu_pmi1_text key;     /* PUT, GET: 1 to 63 characters */
    struct mu_pmi1_text value;   /* PUT: up to 1023 */
};

/* Of a line without its end.  NULL, or the rule that it breaks, in 'text'. */
const char *mu_pmi1_parse(const char *bytes, size_t count, struct mu_pmi1_line *line,
                          char text[MU_PMI1_TEXT_MAX]);

bool mu_pmi1_is(struct mu_pmi1_text text, const char *word);

#endif
