/* What the processes were told, against what they should have been told. */
#include "verdicts.h"

#include <stdlib.h>
#include <string.h>

/* ---- notes ---- */

static void add(struct witness *witness, const struct told *told)
{
    if (witness->count == EVENTS_MAX) {
        fprintf(stderr, "a process was told more than %d things\n", EVENTS_MAX);
        exit(2);
    }
    witness->told[witness->count++] = *told;
}

static void read_line(struct witness *witness, const char *line)
{
    struct told told = {0};
    int pid;
    unsigned long long at;
    if (sscanf(line, "pid %d", &pid) == 1) {
        witness->there = true;
        witness->pid = (pid_t)pid;
    } else if (sscanf(line, "process %u %15s at %llu", &told.subject, told.verdict, &at) == 3) {
        told.at_ns = at;
        if (strcmp(told.verdict, "left") != 0)
            add(witness, &told);
    } else if (sscanf(line, "node %u %15s by %u at %llu", &told.subject, told.verdict, &told.by,
                      &at) == 4) {
        told.is_node = true;
        told.at_ns = at;
        add(witness, &told);
    } else if (strcmp(line, "over\n") == 0) {
        witness->over = true;
    } else {
        witness->broken = true;
    }
}

void watch_read(const struct rig *rig, struct witness witnesses[RANKS])
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        char path[4096], line[512];
        struct witness *witness = &witnesses[rank];
        memset(witness, 0, sizeof *witness);
        snprintf(path, sizeof path, "%s/rank-%u", rig->trial.folder, rank);
        FILE *file = fopen(path, "re");
        if (file == NULL)
            continue;
        /* A line is written at once, but may be seen half. */
        while (fgets(line, sizeof line, file) != NULL && strchr(line, '\n') != NULL)
            read_line(witness, line);
        fclose(file);
    }
}

/* ---- judgement ---- */

static struct told *find(struct witness *witness, bool is_node, uint32_t subject)
{
    for (uint32_t i = 0; i < witness->count; i++)
        if (witness->told[i].is_node == is_node && witness->told[i].subject == subject &&
            !witness->told[i].expected)
            return &witness->told[i];
    return NULL;
}

/* The first time that it was told so. */
static struct told *find_first(struct witness *witness, const struct told *told)
{
    for (uint32_t i = 0; i < witness->count; i++)
        if (witness->told[i].is_node == told->is_node && witness->told[i].subject == told->subject)
            return &witness->told[i];
    return NULL;
}

/* Of several that it may be, the one that it is: who was told first of.  None yet: no bit. */
static uint32_t choose(const struct step *step, const struct witness witnesses[RANKS])
{
    uint64_t first_ns = UINT64_MAX;
    uint32_t chosen = 0;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t i = 0; i < witnesses[rank].count; i++) {
            const struct told *told = &witnesses[rank].told[i];
            if (!told->is_node || (step->subjects & 1u << told->subject) == 0 ||
                told->at_ns >= first_ns)
                continue;
            first_ns = told->at_ns;
            chosen = 1u << told->subject;
        }
    return chosen;
}

/* One process and one subject. */
static const char *judge_one(const struct rig *rig, const struct step *step, uint32_t rank,
                             struct witness *witness, bool is_node, uint32_t subject,
                             const char *verdict, char text[TEXT_MAX], bool *hopeless)
{
    const char *kind = is_node ? "node" : "process";
    struct told *told = find(witness, is_node, subject);
    if (told == NULL) {
        snprintf(text, TEXT_MAX, "process %u was not told that %s %u is %s", rank, kind, subject,
                 verdict);
        return text;
    }
    told->expected = true;
    *hopeless = true;
    if (strcmp(told->verdict, verdict) != 0) {
        snprintf(text, TEXT_MAX, "process %u was told that %s %u is %s, and not %s", rank, kind,
                 subject, told->verdict, verdict);
        return text;
    }
    uint64_t from_ns = rig->begin_ns + span_ns(rig, &step->from);
    uint64_t until_ns = rig->end_ns + span_ns(rig, &step->until);
    if (told->at_ns < from_ns || told->at_ns > until_ns) {
        snprintf(text, TEXT_MAX, "process %u was told that %s %u is %s %.1f ms after it was done",
                 rank, kind, subject, verdict, ((double)told->at_ns - (double)rig->end_ns) / 1e6);
        return text;
    }
    *hopeless = false;
    return NULL;
}

static const char *judge_node(const struct rig *rig, const struct step *step, uint32_t rank,
                              struct witness *witness, uint32_t node, char text[TEXT_MAX],
                              bool *hopeless)
{
    const char *wrong =
        judge_one(rig, step, rank, witness, true, node, step->verdict, text, hopeless);
    for (uint32_t k = 0; wrong == NULL && k < EACH; k++)
        wrong = judge_one(rig, step, rank, witness, false, node * EACH + k, "dead", text, hopeless);
    return wrong;
}

void watch_explain(const struct step *step, struct witness witnesses[RANKS])
{
    uint32_t subjects = step->one_of ? choose(step, witnesses) : step->subjects;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if ((step->nodes & 1u << rank / EACH) == 0)
            continue;
        for (uint32_t i = 0; i < witnesses[rank].count; i++) {
            struct told *told = &witnesses[rank].told[i];
            uint32_t node = told->is_node ? told->subject : told->subject / EACH;
            bool explained = step->is_node ? (subjects & 1u << node) != 0
                                           : !told->is_node && told->subject == subjects;
            if (!explained || find_first(&witnesses[rank], told) != told)
                continue; /* each thing is told once */
            told->expected = true;
        }
    }
}

const char *watch_judge(const struct rig *rig, const struct step *step,
                        struct witness witnesses[RANKS], char text[TEXT_MAX], bool *hopeless)
{
    uint32_t subjects = step->one_of ? choose(step, witnesses) : step->subjects;
    *hopeless = false;
    if (step->one_of && subjects == 0) {
        snprintf(text, TEXT_MAX, "nobody was told of either node");
        return text;
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const char *wrong = NULL;
        uint32_t home = 1u << rank / EACH;
        if ((step->nodes & home) == 0 || (step->is_node && (subjects & home) != 0) ||
            (!step->is_node && rank == subjects))
            continue;
        if (!step->is_node)
            wrong = judge_one(rig, step, rank, &witnesses[rank], false, subjects, step->verdict,
                              text, hopeless);
        for (uint32_t node = 0; step->is_node && wrong == NULL && node < NODES; node++)
            if ((subjects & 1u << node) != 0)
                wrong = judge_node(rig, step, rank, &witnesses[rank], node, text, hopeless);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

const char *watch_surplus(const struct witness witnesses[RANKS], uint32_t ended,
                          char text[TEXT_MAX])
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if (witnesses[rank].broken && (ended & 1u << rank / EACH) == 0) {
            snprintf(text, TEXT_MAX, "process %u: muster failed", rank);
            return text;
        }
        for (uint32_t i = 0; i < witnesses[rank].count; i++) {
            const struct told *told = &witnesses[rank].told[i];
            if (told->expected)
                continue;
            snprintf(text, TEXT_MAX, "process %u was told that %s %u is %s, which nothing explains",
                     rank, told->is_node ? "node" : "process", told->subject, told->verdict);
            return text;
        }
    }
    return NULL;
}
