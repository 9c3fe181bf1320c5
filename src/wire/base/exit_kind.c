#define _GNU_SOURCE
#include "wire/base/exit_kind.h"

#include "wire/base/words.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct signal_names {
    const char *name;
    const char *words;
};

/* Our own words: strsignal() has them in the user's language, which scripts and tests cannot read,
 * and calls SIGFPE a floating point exception, though dividing integers by zero raises it. */
static const struct signal_names names[] = {
    [SIGHUP] = {"SIGHUP", "hangup"},
    [SIGINT] = {"SIGINT", "interrupted"},
    [SIGQUIT] = {"SIGQUIT", "quit"},
    [SIGILL] = {"SIGILL", "illegal instruction"},
    [SIGTRAP] = {"SIGTRAP", "trace or breakpoint trap"},
    [SIGABRT] = {"SIGABRT", "aborted"},
    [SIGBUS] = {"SIGBUS", "bus error"},
    [SIGFPE] = {"SIGFPE", "arithmetic exception"},
    [SIGKILL] = {"SIGKILL", "killed"},
    [SIGUSR1] = {"SIGUSR1", "user signal 1"},
    [SIGSEGV] = {"SIGSEGV", "segmentation fault"},
    [SIGUSR2] = {"SIGUSR2", "user signal 2"},
    [SIGPIPE] = {"SIGPIPE", "broken pipe"},
    [SIGALRM] = {"SIGALRM", "alarm clock"},
    [SIGTERM] = {"SIGTERM", "terminated"},
#ifdef SIGSTKFLT
    [SIGSTKFLT] = {"SIGSTKFLT", "stack fault"},
#endif
    [SIGCHLD] = {"SIGCHLD", "child ended or stopped"},
    [SIGCONT] = {"SIGCONT", "continued"},
    [SIGSTOP] = {"SIGSTOP", "stopped"},
    [SIGTSTP] = {"SIGTSTP", "stopped from the terminal"},
    [SIGTTIN] = {"SIGTTIN", "stopped for terminal input"},
    [SIGTTOU] = {"SIGTTOU", "stopped for terminal output"},
    [SIGURG] = {"SIGURG", "urgent data on a socket"},
    [SIGXCPU] = {"SIGXCPU", "CPU time limit exceeded"},
    [SIGXFSZ] = {"SIGXFSZ", "file size limit exceeded"},
    [SIGVTALRM] = {"SIGVTALRM", "virtual timer expired"},
    [SIGPROF] = {"SIGPROF", "profiling timer expired"},
    [SIGWINCH] = {"SIGWINCH", "window size changed"},
    [SIGIO] = {"SIGIO", "input or output possible"},
    [SIGPWR] = {"SIGPWR", "power failure"},
    [SIGSYS] = {"SIGSYS", "bad system call"},
};

static const struct signal_names *names_of(int number)
{
    static const struct signal_names none = {NULL, NULL};
    bool known = number > 0 && (size_t)number < sizeof names / sizeof names[0];
    return known ? &names[number] : &none;
}

const char *mu_signal_name(int number)
{
    return names_of(number)->name;
}

const char *mu_signal_words(int number)
{
    return names_of(number)->words;
}

struct mu_exit_kind mu_exit_kind_of(const siginfo_t *info)
{
    int status = info->si_status;
    switch (info->si_code) {
    case CLD_EXITED:
        return (struct mu_exit_kind){.type = status == 0 ? MU_EXIT_LEFT : MU_EXIT_CODE,
                                     .code = status};
    case CLD_KILLED:
        return (struct mu_exit_kind){.type = MU_EXIT_SIGNAL, .signal = status};
    case CLD_DUMPED:
        return (struct mu_exit_kind){.type = MU_EXIT_SIGNAL, .signal = status, .core_dumped = true};
    default:
        assert(!"a state that is not an end");
        abort();
    }
}

struct mu_exit_kind mu_exit_kind_not_started(enum mu_start_step step, int error)
{
    return (struct mu_exit_kind){.type = MU_EXIT_NOT_STARTED, .step = step, .error = error};
}

struct mu_exit_kind mu_exit_kind_unknown(int error)
{
    return (struct mu_exit_kind){.type = MU_EXIT_UNKNOWN, .error = error};
}

struct mu_exit_kind mu_exit_kind_no_goodbye(enum mu_goodbye not_called)
{
    assert(not_called > MU_GOODBYE_SAID && not_called <= MU_GOODBYE_LAST);
    return (struct mu_exit_kind){.type = MU_EXIT_NO_GOODBYE, .code = (int)not_called};
}

bool mu_exit_kind_failed(const struct mu_exit_kind *kind)
{
    return kind->type != MU_EXIT_LEFT;
}

static bool program_missing(const struct mu_exit_kind *kind)
{
    if (kind->step == MU_START_INTERPRETER)
        return true;
    return kind->step == MU_START_EXEC && (kind->error == ENOENT || kind->error == ENOTDIR);
}

int mu_exit_kind_shell_code(const struct mu_exit_kind *kind)
{
    switch (kind->type) {
    case MU_EXIT_LEFT:
        return 0;
    case MU_EXIT_CODE:
        return kind->code;
    case MU_EXIT_SIGNAL:
        return 128 + kind->signal;
    case MU_EXIT_NOT_STARTED:
        return program_missing(kind) ? 127 : 126;
    case MU_EXIT_UNKNOWN:
        return 255;
    case MU_EXIT_NO_GOODBYE:
        return 1;
    }
    abort();
}

int mu_exit_kind_code(const struct mu_exit_kind *kind)
{
    switch (kind->type) {
    case MU_EXIT_LEFT:
    case MU_EXIT_NO_GOODBYE:
        return 0;
    case MU_EXIT_CODE:
        return kind->code;
    case MU_EXIT_SIGNAL:
    case MU_EXIT_NOT_STARTED:
    case MU_EXIT_UNKNOWN:
        return -1;
    }
    abort();
}

const char *mu_exit_kind_word(const struct mu_exit_kind *kind)
{
    switch (kind->type) {
    case MU_EXIT_LEFT:
        return "left";
    case MU_EXIT_CODE:
        return "exited";
    case MU_EXIT_SIGNAL:
        return "signalled";
    case MU_EXIT_NOT_STARTED:
        return "not-started";
    case MU_EXIT_UNKNOWN:
        return "unknown";
    case MU_EXIT_NO_GOODBYE:
        return "no-finalize";
    }
    abort();
}

/* What stands before the system's word for the error.  EXEC needs nothing: the path says it. */
static const char *step_words(enum mu_start_step step)
{
    switch (step) {
    case MU_START_CLONE:
        return "cannot create a process: ";
    case MU_START_PARENT_DEATH:
        return "cannot tie it to its daemon: ";
    case MU_START_GROUP:
        return "cannot create a session: ";
    case MU_START_STDIO:
        return "cannot connect standard input, output or error: ";
    case MU_START_CLOSE:
        return "cannot close inherited descriptors: ";
    case MU_START_CHDIR:
        return "";
    case MU_START_SIGNALS:
        return "cannot reset signals: ";
    case MU_START_EXEC:
        return "";
    case MU_START_INTERPRETER:
        return "its interpreter or loader: ";
    }
    abort();
}

static void put_start(struct mu_words *words, const struct mu_exit_kind *kind, const char *path)
{
    /* No setlocale() in the daemon, so these are the plain English words. */
    char buffer[128];
    /* One that was cut off at its beginning had a slash. */
    bool is_searched = path != NULL && strchr(path, '/') == NULL && strncmp(path, "...", 3) != 0;
    bool is_folder = kind->step == MU_START_CHDIR;
    mu_words_put(words, is_folder ? "cannot enter working directory" : "cannot start");
    if (path != NULL) {
        mu_words_put(words, " ");
        mu_words_put(words, path);
    }
    mu_words_put(words, ": ");
    if (is_searched && kind->step == MU_START_EXEC && kind->error == ENOENT) {
        mu_words_put(words, "not found in PATH");
        return;
    }
    mu_words_put(words, step_words(kind->step));
    mu_words_put(words, strerror_r(kind->error, buffer, sizeof buffer));
}

/* Of a fault of the program the name alone says too little. */
static bool needs_words(int signal)
{
    switch (signal) {
    case SIGILL:
    case SIGTRAP:
    case SIGBUS:
    case SIGFPE:
    case SIGSEGV:
    case SIGPIPE:
    case SIGXCPU:
    case SIGXFSZ:
    case SIGSYS:
        return true;
    default:
        return false;
    }
}

static void put_signal(struct mu_words *words, const struct mu_exit_kind *kind)
{
    const char *name = mu_signal_name(kind->signal);
    bool real_time = kind->signal >= SIGRTMIN && kind->signal <= SIGRTMAX;
    mu_words_put(words, "killed by ");
    if (name != NULL) {
        mu_words_put(words, name);
    } else {
        mu_words_put(words, real_time ? "SIGRTMIN+" : "signal ");
        mu_words_number(words, real_time ? kind->signal - SIGRTMIN : kind->signal);
    }
    if (name != NULL && needs_words(kind->signal)) {
        mu_words_put(words, " (");
        mu_words_put(words, mu_signal_words(kind->signal));
        mu_words_put(words, ")");
    }
    if (kind->core_dumped)
        mu_words_put(words, ", core dumped");
}

static void put_no_goodbye(struct mu_words *words, const struct mu_exit_kind *kind)
{
    static const char *const calls[] = {
        [MU_GOODBYE_PMIX] = "MPI_Finalize (or PMIx_Finalize)",
        [MU_GOODBYE_PMI1] = "MPI_Finalize",
        [MU_GOODBYE_MUSTER] = "muster_close",
    };
    mu_words_put(words, "exited with code 0 but never called ");
    mu_words_put(words, calls[kind->code]);
    mu_words_put(words, "; its peers would wait for it forever");
}

const char *mu_exit_kind_text(const struct mu_exit_kind *kind, const char *path, char *text,
                              size_t room)
{
    struct mu_words words = mu_words_in(text, room);
    switch (kind->type) {
    case MU_EXIT_LEFT:
    case MU_EXIT_CODE:
        mu_words_put(&words, "exit code ");
        mu_words_number(&words, kind->code);
        return text;
    case MU_EXIT_SIGNAL:
        put_signal(&words, kind);
        return text;
    case MU_EXIT_NOT_STARTED:
        put_start(&words, kind, path);
        return text;
    case MU_EXIT_UNKNOWN:
        mu_words_put(&words, "ended with an unknown status (errno ");
        mu_words_number(&words, kind->error);
        mu_words_put(&words, ")");
        return text;
    case MU_EXIT_NO_GOODBYE:
        put_no_goodbye(&words, kind);
        return text;
    }
    abort();
}
