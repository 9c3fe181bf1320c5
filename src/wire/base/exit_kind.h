/* How a process ended, or why it never began: sorted, as a sentence, and as a shell's exit code.
 *
 * After Osman and Bargiela, on error detection for distributed simulations: the end of a task is
 * normal or a failure, and a failure carries its kind of fault.  What the kernel knows is the
 * signal; segmentation fault, bus error and arithmetic exception are signals to it like
 * "terminated" is.  Nothing here touches a process: data in, data out. */
#ifndef MU_WIRE_BASE_EXIT_KIND_H
#define MU_WIRE_BASE_EXIT_KIND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum mu_exit_type {
    MU_EXIT_LEFT,        /* exit 0: it said goodbye, nothing failed */
    MU_EXIT_CODE,        /* exit with another code */
    MU_EXIT_SIGNAL,      /* a signal ended it */
    MU_EXIT_NOT_STARTED, /* it never ran a line of the program */
    MU_EXIT_UNKNOWN,     /* it is gone, and somebody else took its status: counts as failed */
    MU_EXIT_NO_GOODBYE,  /* exit 0, but it had joined its job, and others may wait for it */
    MU_EXIT_LAST = MU_EXIT_NO_GOODBYE,
};

/* Where a start can fail, in the order in which it is done. */
enum mu_start_step {
    MU_START_CLONE,        /* making the process, and a descriptor for it */
    MU_START_PARENT_DEATH, /* arranging that it dies with its daemon */
    MU_START_GROUP,
    MU_START_STDIO,
    MU_START_CLOSE, /* of every other descriptor */
    MU_START_CHDIR,
    MU_START_SIGNALS,
    MU_START_EXEC,
    MU_START_INTERPRETER, /* the file is there; the program that its #! line or ELF header names
                           * isn't
                           */
};

/* What a process that has joined its job calls before it ends, by the way in which it joined. */
enum mu_goodbye {
    MU_GOODBYE_SAID,   /* nothing: it has called it, or has not joined */
    MU_GOODBYE_PMIX,   /* PMIx_Finalize, which MPI_Finalize calls */
    MU_GOODBYE_PMI1,   /* MPI_Finalize */
    MU_GOODBYE_MUSTER, /* muster_close */
    MU_GOODBYE_LAST = MU_GOODBYE_MUSTER,
};

struct mu_exit_kind {
    enum mu_exit_type type;
    int code;                /* CODE; NO_GOODBYE: what it did not call, enum mu_goodbye */
    int signal;              /* SIGNAL */
    bool core_dumped;        /* SIGNAL */
    enum mu_start_step step; /* NOT_STARTED */
    int error;               /* NOT_STARTED: errno of that step.  UNKNOWN: errno of waitid() */
};

/* Holds every sentence about a path of PATH_MAX; a longer one is cut off. */
enum { MU_EXIT_TEXT_MAX = 4096 + 128 };

/* From what waitid(WEXITED) filled in.  A stop or a continue is not an end: assert. */
struct mu_exit_kind mu_exit_kind_of(const siginfo_t *info);

struct mu_exit_kind mu_exit_kind_not_started(enum mu_start_step step, int error);
struct mu_exit_kind mu_exit_kind_unknown(int error);
struct mu_exit_kind mu_exit_kind_no_goodbye(enum mu_goodbye not_called);

/* All but LEFT. */
bool mu_exit_kind_failed(const struct mu_exit_kind *kind);

/* What a shell would have in $?: the exit code, 128 + signal, 127 for a program that is not there,
 * 126 for one that is and cannot be started, 255 when nobody knows; 1 for NO_GOODBYE, as mpirun
 * does. */
int mu_exit_kind_shell_code(const struct mu_exit_kind *kind);

/* "exit code 3", "segmentation fault (signal 11), core dumped",
 * "cannot start ./nope: No such file or directory".  'path' is the file or folder that the
 * failed step was about (mu_spawn_path()), or NULL; it only shows when the start failed.  Cut off
 * at 'room'.  Returns 'text'. */
const char *mu_exit_kind_text(const struct mu_exit_kind *kind, const char *path, char *text,
                              size_t room);

/* Its exit code, 0 to 255; -1: it did not end by itself. */
int mu_exit_kind_code(const struct mu_exit_kind *kind);

/* A stable word for scripts: "left", "exited", "signalled", "not-started", "unknown",
 * "no-finalize". */
const char *mu_exit_kind_word(const struct mu_exit_kind *kind);

/* "SIGSEGV" and "segmentation fault"; NULL for a number without a name, as real-time signals are.
 */
const char *mu_signal_name(int number);
const char *mu_signal_words(int number);

#endif
