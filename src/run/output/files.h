/* One file for each stream of each rank, in a folder: rank-N.out, rank-N.err. */
#ifndef MU_RUN_OUTPUT_FILES_H
#define MU_RUN_OUTPUT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_files;

/* Makes the folder when it is missing, and every file, empty.  NULL with a sentence in 'text'. */
struct run_files *run_files_open(const char *folder, uint32_t ranks, char *text, size_t room);

/* For a sink, on its thread: the descriptor of file 2 * rank (.out) or 2 * rank + 1 (.err); -1 with
 * errno.  Only some are open at once: a descriptor is good until the next call. */
int run_files_descriptor(void *files, uint32_t target);

/* Its name, for messages; cut off at 'room'.  Returns 'text'. */
const char *run_files_path(const struct run_files *files, uint32_t target, char *text, size_t room);

/* When no sink uses it any more.  NULL is fine. */
void run_files_close(struct run_files *files);

/* Makes a folder when it is missing; its parent must be there.  0 or an errno. */
int run_files_make_folder(const char *folder);

#endif
