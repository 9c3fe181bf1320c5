/* The laws that can be checked when all is over. */
#define _GNU_SOURCE
#include "stops.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int check_notes(struct cycle *cycle)
{
    static struct trial_notes notes[TRIAL_RANKS_MAX];
    const struct trial *trial = &cycle->trial;
    for (uint32_t r = 0; r < trial->ranks; r++) {
        uint32_t home = trial_home(trial, r);
        long number;
        trial_read_notes(trial, r, &notes[r]);
        const char *error = trial_notes_error(trial, &notes[r], r, &number);
        if (error != NULL)
            return stops_fail(cycle, error, number);
        if (notes[r].there && notes[r].node != home)
            return stops_fail(cycle, "not on the node where it should be: rank", r);
        for (uint32_t n = 0; n < trial->nodes; n++)
            if (notes[r].nodes[n] > 0 && !stops_may_be_declared(cycle, n))
                return stops_fail(cycle, "declared dead, and not stopped for long: node", n);
        for (uint32_t q = 0; q < trial->ranks; q++)
            if (notes[r].dead[q] > 0 && !stops_may_be_declared(cycle, trial_home(trial, q)))
                return stops_fail(cycle, "dead, and its node was not stopped for long: rank", q);
        if (!notes[r].over && !cycle->nodes[home].was_dead && !cycle->nodes[home].touched_at_end &&
            !stops_is_stalled(cycle))
            return stops_fail(cycle, "a survivor has not lived to the end: rank", r);
    }
    return 0;
}

/* Calls 'take' with each line of a file until it fails. */
static int each_line(struct cycle *cycle, const char *name,
                     int (*take)(struct cycle *cycle, const char *line))
{
    char path[4096], line[4096];
    int failed = 0;
    snprintf(path, sizeof path, "%s/%s", cycle->trial.folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return stops_fail(cycle, strerror(errno), errno);
    while (failed == 0 && fgets(line, sizeof line, file) != NULL)
        failed = take(cycle, line);
    fclose(file);
    return failed;
}

/* Whoever was stopped accuses nobody when it goes on. */
static int take_log_line(struct cycle *cycle, const char *line)
{
    unsigned by, node, ms;
    if (sscanf(line, "musterd node%u: node %u was heard last %u ms ago", &by, &node, &ms) != 3)
        return 0;
    if (node >= cycle->trial.nodes || !stops_may_be_declared(cycle, node))
        return stops_fail(cycle, "accused, and not stopped for long: node", node);
    return 0;
}

static int take_report_line(struct cycle *cycle, const char *line)
{
    const char *at = strstr(line, "\"node\":");
    unsigned node;
    if (at == NULL || sscanf(at, "\"node\":%u", &node) != 1 || node >= cycle->trial.nodes)
        return stops_fail(cycle,
                          "a line of the report is about nobody, bytes:", (long)strlen(line));
    cycle->nodes[node].reported += strstr(line, "\"kind\":\"node\"") != NULL;
    if (!stops_may_be_declared(cycle, node))
        return stops_fail(cycle, "reported, and not stopped for long: node", node);
    return 0;
}

static int check_report(struct cycle *cycle)
{
    if (each_line(cycle, "report", take_report_line))
        return 1;
    for (uint32_t n = 0; n < cycle->trial.nodes; n++)
        if (cycle->nodes[n].reported > 1 ||
            (cycle->nodes[n].was_dead && cycle->nodes[n].reported == 0))
            return stops_fail(cycle, "dead, and not just once in the report: node", n);
    return 0;
}

static int check_found_out(struct cycle *cycle)
{
    char path[4096], line[128];
    snprintf(path, sizeof path, "%s/log", cycle->trial.folder);
    for (uint32_t n = 0; n < cycle->trial.nodes; n++) {
        snprintf(line, sizeof line, "musterd node%u: declared failed by its peers", n);
        bool must =
            cycle->nodes[n].was_dead && !cycle->nodes[n].killed && !stops_is_for_good(cycle, n);
        if (must && !trial_file_has(path, line))
            return stops_fail(cycle, "went on without a word after it was declared dead: node", n);
    }
    return 0;
}

/* ---- all of it ---- */

int stops_check_log(struct cycle *cycle)
{
    return each_line(cycle, "log", take_log_line);
}

int stops_check(struct cycle *cycle)
{
    return check_notes(cycle) || check_found_out(cycle) || stops_check_log(cycle) ||
           check_report(cycle);
}
