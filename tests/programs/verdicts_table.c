/* The words of the table, and the page that is printed from them. */
#include "verdicts.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *file_name;
static unsigned line_number;

__attribute__((format(printf, 1, 2))) static _Noreturn void wrong(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%u: ", file_name, line_number);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

static void copy(char *to, size_t room, const char *text)
{
    if (strlen(text) >= room)
        wrong("'%s' is longer than %zu characters", text, room - 1);
    strcpy(to, text);
}

/* ---- words ---- */

/* "3", "0-2,5": bits.  False: it is no such list. */
static bool read_nodes(const char *word, uint32_t *nodes)
{
    *nodes = 0;
    for (;;) {
        char *rest;
        unsigned long first = strtoul(word, &rest, 10), last = first;
        if (rest == word)
            return false;
        if (*rest == '-') {
            word = rest + 1;
            last = strtoul(word, &rest, 10);
            if (rest == word)
                return false;
        }
        if (first > last || last >= NODES)
            return false;
        for (unsigned long n = first; n <= last; n++)
            *nodes |= 1u << n;
        if (*rest == '\0')
            return true;
        if (*rest != ',')
            return false;
        word = rest + 1;
    }
}

static uint32_t need_nodes(const char *word)
{
    uint32_t nodes;
    if (word == NULL || !read_nodes(word, &nodes))
        wrong("'%s' is not a list of nodes below %d", word == NULL ? "" : word, NODES);
    return nodes;
}

static uint32_t need_rank(const char *word)
{
    char *rest;
    unsigned long rank = word == NULL ? RANKS : strtoul(word, &rest, 10);
    if (word == NULL || *rest != '\0' || rank >= RANKS)
        wrong("'%s' is not a process below %d", word == NULL ? "" : word, RANKS);
    return (uint32_t)rank;
}

/* "2 timeouts + period": a number may stand before each of them. */
static void read_span(const char *text, struct span *span)
{
    char words[64], *rest = NULL;
    double sign = 1, number = 1;
    *span = (struct span){0};
    copy(span->text, sizeof span->text, text);
    copy(words, sizeof words, text);
    for (const char *word = strtok_r(words, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        char *end;
        double value = strtod(word, &end);
        if (strcmp(word, "+") == 0 || strcmp(word, "-") == 0) {
            sign = *word == '+' ? 1 : -1;
            number = 1;
        } else if (end != word && *end == '\0') {
            number = value;
        } else if (strncmp(word, "timeout", 7) == 0) {
            span->timeouts += sign * number;
        } else if (strncmp(word, "period", 6) == 0) {
            span->periods += sign * number;
        } else {
            wrong("'%s' in '%s' is neither a number, a timeout nor a period", word, text);
        }
    }
}

/* Cuts off what follows the first ' WORD ' of the text; NULL: it is not there. */
static char *cut_off(char *text, const char *word)
{
    char pattern[32];
    snprintf(pattern, sizeof pattern, " %s ", word);
    char *at = strstr(text, pattern);
    if (at == NULL)
        return NULL;
    *at = '\0';
    return at + strlen(pattern);
}

/* ---- steps ---- */

static void read_flap(struct step *step, char *text)
{
    char *times = cut_off(text, "times"), *up = cut_off(text, "up"), *down = cut_off(text, "down");
    if (times == NULL || up == NULL || down == NULL)
        wrong("a flap is 'flap NODES down SPAN up SPAN times COUNT'");
    read_span(down, &step->down);
    read_span(up, &step->up);
    step->times = (uint32_t)atoi(times);
    step->nodes = need_nodes(text);
    step->in = step->out = step->all = true;
}

static void read_cut(struct step *step, char *text)
{
    const char *peers = cut_off(text, "from"), *way = cut_off(text, "only");
    step->nodes = need_nodes(text);
    step->all = peers == NULL;
    step->peers = (peers == NULL ? (1u << NODES) - 1 : need_nodes(peers)) & ~step->nodes;
    step->in = way == NULL || strcmp(way, "in") == 0;
    step->out = way == NULL || strcmp(way, "out") == 0;
    if (!step->in && !step->out)
        wrong("'%s' is neither in nor out", way);
}

static void read_do(struct step *step, char *text)
{
    static const struct {
        const char *word;
        enum act act;
    } words[] = {
        {"kill", ACT_KILL}, {"stop", ACT_STOP},  {"resume", ACT_RESUME},     {"freeze", ACT_FREEZE},
        {"cut", ACT_CUT},   {"heal", ACT_HEAL},  {"split", ACT_SPLIT},       {"flap", ACT_FLAP},
        {"load", ACT_LOAD}, {"step", ACT_CLOCK}, {"exit", ACT_EXIT_PROCESS},
    };
    char *rest = NULL;
    const char *word = strtok_r(text, " ", &rest);
    step->type = STEP_DO;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (word == NULL || strcmp(word, words[i].word) != 0)
            continue;
        step->act = words[i].act;
        bool process = strncmp(rest, "process ", 8) == 0;
        if (process) {
            step->act = step->act == ACT_KILL ? ACT_KILL_PROCESS : ACT_EXIT_PROCESS;
            step->rank = need_rank(rest + 8);
        } else if (step->act == ACT_FLAP) {
            read_flap(step, rest);
        } else if (step->act == ACT_CUT) {
            read_cut(step, rest);
        } else if (step->act != ACT_HEAL && step->act != ACT_LOAD && step->act != ACT_CLOCK) {
            step->nodes = need_nodes(rest);
        }
        return;
    }
    wrong("'%s' is not a thing to do", word == NULL ? "" : word);
}

/* NODES: node LIST VERDICT [after SPAN] within SPAN; NODES: nothing for SPAN */
static void read_told(struct step *step, char *text)
{
    char *what = strstr(text, ": ");
    if (what == NULL)
        wrong("no ': ' between who is told and what");
    *what = '\0';
    what += 2;
    step->nodes = need_nodes(text);
    char *span = cut_off(what, "within");
    if (span == NULL) {
        span = cut_off(what, "for");
        if (span == NULL || strcmp(what, "nothing") != 0)
            wrong("neither 'within SPAN' nor 'nothing for SPAN'");
        step->type = STEP_NOTHING;
        read_span(span, &step->until);
        return;
    }
    step->type = STEP_TOLD;
    read_span(span, &step->until);
    char *from = cut_off(what, "after");
    if (from != NULL)
        read_span(from, &step->from);
    char *rest = NULL;
    const char *kind = strtok_r(what, " ", &rest), *list = strtok_r(NULL, " ", &rest),
               *verdict = strtok_r(NULL, " ", &rest);
    if (verdict != NULL && strcmp(verdict, "or") == 0) {
        step->one_of = true;
        step->subjects = need_nodes(strtok_r(NULL, " ", &rest));
        verdict = strtok_r(NULL, " ", &rest);
    }
    if (kind == NULL || verdict == NULL)
        wrong("what is told is 'node LIST [or LIST] VERDICT' or 'process RANK VERDICT'");
    step->is_node = strcmp(kind, "process") != 0;
    if (step->is_node)
        step->subjects |= need_nodes(list);
    else
        step->subjects = need_rank(list);
    copy(step->verdict, sizeof step->verdict, verdict);
}

static void read_ends(struct step *step, char *text)
{
    char *span = cut_off(text, "within");
    if (span == NULL)
        wrong("no 'within SPAN'");
    step->type = STEP_ENDS;
    step->nodes = need_nodes(text);
    read_span(span, &step->until);
}

static void read_line(struct table *table, char *line)
{
    struct row *row = table->count > 0 ? &table->rows[table->count - 1] : NULL;
    char *text = NULL;
    const char *word = strtok_r(line, " \n", &text);
    text += strspn(text, " ");
    text[strcspn(text, "\n")] = '\0';
    if (word == NULL || *word == '#')
        return;
    if (strcmp(word, "page") == 0) {
        size_t used = strlen(table->head);
        copy(table->head + used, sizeof table->head - used - 1, text);
        strcat(table->head, "\n");
        return;
    }
    if (strcmp(word, "case") == 0) {
        if (table->count == ROWS_MAX)
            wrong("more than %d cases", ROWS_MAX);
        row = &table->rows[table->count++];
        copy(row->name, sizeof row->name, text);
        return;
    }
    if (row == NULL)
        wrong("'%s' before the first case", word);
    if (strcmp(word, "title") == 0) {
        copy(row->title, sizeof row->title, text);
    } else if (strcmp(word, "why") == 0) {
        size_t used = strlen(row->why);
        copy(row->why + used, sizeof row->why - used, used == 0 ? "" : "\n");
        used = strlen(row->why);
        copy(row->why + used, sizeof row->why - used, text);
    } else if (strcmp(word, "needs") == 0) {
        copy(row->needs, sizeof row->needs, text);
    } else {
        if (row->step_count == STEPS_MAX)
            wrong("more than %d steps", STEPS_MAX);
        struct step *step = &row->steps[row->step_count++];
        copy(step->text, sizeof step->text, text);
        if (strcmp(word, "do") == 0)
            read_do(step, text);
        else if (strcmp(word, "told") == 0)
            read_told(step, text);
        else if (strcmp(word, "ends") == 0)
            read_ends(step, text);
        else
            wrong("'%s' is not a word of the table", word);
    }
}

void table_read(struct table *table, const char *path)
{
    char line[1024];
    FILE *file = fopen(path, "re");
    file_name = path;
    line_number = 0;
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    memset(table, 0, sizeof *table);
    while (fgets(line, sizeof line, file) != NULL) {
        line_number++;
        read_line(table, line);
    }
    fclose(file);
}

/* ---- the page ---- */

const char *nodes_text(uint32_t nodes, char text[TEXT_MAX])
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t n = 0; n < NODES; n++) {
        uint32_t last = n;
        if ((nodes & 1u << n) == 0)
            continue;
        while (last + 1 < NODES && (nodes & 1u << (last + 1)) != 0)
            last++;
        const char *comma = used == 0 ? "" : ",";
        used +=
            (size_t)(last == n ? snprintf(text + used, TEXT_MAX - used, "%s%u", comma, n)
                               : snprintf(text + used, TEXT_MAX - used, "%s%u-%u", comma, n, last));
        n = last;
    }
    return text;
}

static void print_span(const struct span *span, uint64_t period_ns, uint64_t timeout_ns)
{
    double ms = (span->timeouts * (double)timeout_ns + span->periods * (double)period_ns) / 1e6;
    printf("%s (%.0f ms)", span->text, ms);
}

static void print_step(const struct step *step, uint64_t period_ns, uint64_t timeout_ns)
{
    char who[TEXT_MAX], list[TEXT_MAX];
    nodes_text(step->nodes, who);
    switch (step->type) {
    case STEP_DO:
        return;
    case STEP_TOLD:
        if (!step->is_node)
            snprintf(list, sizeof list, "process %u", step->subjects);
        else
            snprintf(list, sizeof list, "node %.200s",
                     nodes_text(step->subjects, (char[TEXT_MAX]){0}));
        printf("| %s | %s%s is `%s` | ", who, step->one_of ? "one, the same for all, of " : "",
               list, step->verdict);
        if (step->from.text[0] != '\0') {
            printf("not before ");
            print_span(&step->from, period_ns, timeout_ns);
            printf(", ");
        }
        printf("within ");
        break;
    case STEP_NOTHING:
        printf("| %s | nothing | for ", who);
        break;
    case STEP_ENDS:
        printf("| %s | it was declared dead: its processes and its daemon end | within ", who);
        break;
    }
    print_span(&step->until, period_ns, timeout_ns);
    printf(" |\n");
}

/* What is told first of a fault, in a line. */
static void print_short(const struct row *row, uint64_t period_ns, uint64_t timeout_ns)
{
    const struct step *first = NULL;
    for (uint32_t k = 0; k < row->step_count; k++)
        if (row->steps[k].type == STEP_TOLD && first == NULL)
            first = &row->steps[k];
    if (first == NULL) {
        printf("| %s | nothing | |\n", row->title);
        return;
    }
    printf("| %s | `%s` | ", row->title, first->verdict);
    print_span(&first->until, period_ns, timeout_ns);
    printf(" |\n");
}

void table_print(const struct table *table, uint64_t period_ns, uint64_t timeout_ns)
{
    fputs(table->head, stdout);
    printf("\n| fault | survivors are told | within |\n|---|---|---|\n");
    for (uint32_t i = 0; i < table->count; i++)
        print_short(&table->rows[i], period_ns, timeout_ns);
    for (uint32_t i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];
        bool first = true;
        printf("\n### %s\n\n", row->title);
        if (row->why[0] != '\0')
            printf("%s\n\n", row->why);
        printf("| done | nodes | are told | when |\n|---|---|---|---|\n");
        for (uint32_t k = 0; k < row->step_count; k++) {
            const struct step *step = &row->steps[k];
            if (step->type == STEP_DO) {
                printf("| %s`%s` ", first ? "" : "then ", step->text);
                first = false;
                continue;
            }
            if (k > 0 && row->steps[k - 1].type != STEP_DO)
                printf("| ");
            print_step(step, period_ns, timeout_ns);
        }
    }
}
