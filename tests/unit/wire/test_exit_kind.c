/* The sorting of ends: every sentence and every code, from made-up siginfo. */
#include "wire/base/exit_kind.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

static struct mu_exit_kind ended(int code, int status)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_code = code;
    info.si_status = status;
    return mu_exit_kind_of(&info);
}

static void expect(struct mu_exit_kind kind, const char *path, const char *expected, int shell_code)
{
    char text[MU_EXIT_TEXT_MAX];
    assert_string_equal(mu_exit_kind_text(&kind, path, text, sizeof text), expected);
    assert_int_equal(mu_exit_kind_shell_code(&kind), shell_code);
}

static void exit_0_is_left_and_no_failure(void **state)
{
    (void)state;
    struct mu_exit_kind kind = ended(CLD_EXITED, 0);
    assert_int_equal(kind.type, MU_EXIT_LEFT);
    assert_false(mu_exit_kind_failed(&kind));
    assert_string_equal(mu_exit_kind_word(&kind), "left");
    expect(kind, NULL, "exit code 0", 0);
}

static void other_codes_are_failures(void **state)
{
    (void)state;
    for (int code = 1; code < 256; code++) {
        struct mu_exit_kind kind = ended(CLD_EXITED, code);
        assert_int_equal(kind.type, MU_EXIT_CODE);
        assert_int_equal(kind.code, code);
        assert_true(mu_exit_kind_failed(&kind));
        assert_int_equal(mu_exit_kind_shell_code(&kind), code);
    }
    expect(ended(CLD_EXITED, 3), "./app", "exit code 3", 3);
}

static void signals_have_plain_words(void **state)
{
    (void)state;
    expect(ended(CLD_KILLED, SIGSEGV), NULL, "killed by SIGSEGV (segmentation fault)", 139);
    expect(ended(CLD_DUMPED, SIGSEGV), NULL, "killed by SIGSEGV (segmentation fault), core dumped",
           139);
    expect(ended(CLD_KILLED, SIGBUS), NULL, "killed by SIGBUS (bus error)", 135);
    expect(ended(CLD_KILLED, SIGFPE), NULL, "killed by SIGFPE (arithmetic exception)", 136);
    expect(ended(CLD_KILLED, SIGILL), NULL, "killed by SIGILL (illegal instruction)", 132);
    expect(ended(CLD_DUMPED, SIGABRT), NULL, "killed by SIGABRT, core dumped", 134);
    expect(ended(CLD_KILLED, SIGKILL), NULL, "killed by SIGKILL", 137);
    expect(ended(CLD_KILLED, SIGTERM), NULL, "killed by SIGTERM", 143);
    expect(ended(CLD_KILLED, SIGINT), NULL, "killed by SIGINT", 130);
    expect(ended(CLD_KILLED, SIGPIPE), NULL, "killed by SIGPIPE (broken pipe)", 141);
    expect(ended(CLD_KILLED, SIGXCPU), NULL, "killed by SIGXCPU (CPU time limit exceeded)", 152);
    expect(ended(CLD_KILLED, SIGRTMIN + 3), NULL, "killed by SIGRTMIN+3", 165);
    expect(ended(CLD_KILLED, 33), NULL, "killed by signal 33", 161);
}

static void every_classic_signal_has_a_name(void **state)
{
    (void)state;
    for (int number = 1; number < 32; number++) {
        assert_non_null(mu_signal_name(number));
        assert_non_null(mu_signal_words(number));
        assert_int_equal(strncmp(mu_signal_name(number), "SIG", 3), 0);
    }
    assert_string_equal(mu_signal_name(SIGSEGV), "SIGSEGV");
    assert_null(mu_signal_name(0));
    assert_null(mu_signal_name(-1));
    assert_null(mu_signal_name(32));
    assert_null(mu_signal_name(1000));
}

static void only_a_dump_sets_the_core_flag(void **state)
{
    (void)state;
    struct mu_exit_kind killed = ended(CLD_KILLED, SIGQUIT), dumped = ended(CLD_DUMPED, SIGQUIT);
    assert_int_equal(killed.type, MU_EXIT_SIGNAL);
    assert_int_equal(dumped.type, MU_EXIT_SIGNAL);
    assert_false(killed.core_dumped);
    assert_true(dumped.core_dumped);
    assert_string_equal(mu_exit_kind_word(&dumped), "signalled");
}

static void a_failed_start_names_step_path_and_error(void **state)
{
    (void)state;
    struct mu_exit_kind kind = mu_exit_kind_not_started(MU_START_EXEC, ENOENT);
    assert_true(mu_exit_kind_failed(&kind));
    assert_string_equal(mu_exit_kind_word(&kind), "not-started");
    expect(kind, "./nope", "cannot start ./nope: No such file or directory", 127);
    expect(mu_exit_kind_not_started(MU_START_EXEC, ENOTDIR), "f/x",
           "cannot start f/x: Not a directory", 127);
    expect(mu_exit_kind_not_started(MU_START_EXEC, EACCES), "./notes.txt",
           "cannot start ./notes.txt: Permission denied", 126);
    expect(mu_exit_kind_not_started(MU_START_EXEC, ENOEXEC), "./x",
           "cannot start ./x: Exec format error", 126);
    expect(mu_exit_kind_not_started(MU_START_INTERPRETER, ENOENT), "./x",
           "cannot start ./x: its interpreter or loader: No such file or "
           "directory",
           127);
    expect(mu_exit_kind_not_started(MU_START_CHDIR, ENOENT), "/no/where",
           "cannot enter working directory /no/where: No such file or directory", 126);
    expect(mu_exit_kind_not_started(MU_START_CLONE, EMFILE), NULL,
           "cannot start: cannot create a process: Too many open files", 126);
}

static void a_stolen_status_counts_as_failed(void **state)
{
    (void)state;
    struct mu_exit_kind kind = mu_exit_kind_unknown(ECHILD);
    assert_true(mu_exit_kind_failed(&kind));
    expect(kind, NULL, "ended with an unknown status (errno 10)", 255);
}

static void an_exit_without_a_goodbye_says_what_was_not_called(void **state)
{
    (void)state;
    struct mu_exit_kind kind = mu_exit_kind_no_goodbye(MU_GOODBYE_PMI1);
    assert_true(mu_exit_kind_failed(&kind));
    assert_string_equal(mu_exit_kind_word(&kind), "no-finalize");
    assert_int_equal(mu_exit_kind_code(&kind), 0);
    expect(kind, NULL,
           "exited with code 0 but never called MPI_Finalize; its peers would wait for it forever",
           1);
    expect(mu_exit_kind_no_goodbye(MU_GOODBYE_PMIX), NULL,
           "exited with code 0 but never called MPI_Finalize (or PMIx_Finalize); its peers would "
           "wait for it forever",
           1);
    expect(mu_exit_kind_no_goodbye(MU_GOODBYE_MUSTER), NULL,
           "exited with code 0 but never called muster_close; its peers would wait for it forever",
           1);
}

static void a_code_is_of_those_that_end_by_themselves(void **state)
{
    (void)state;
    struct mu_exit_kind left = ended(CLD_EXITED, 0), failed = ended(CLD_EXITED, 3);
    struct mu_exit_kind killed = ended(CLD_KILLED, SIGKILL), stolen = mu_exit_kind_unknown(ECHILD);
    struct mu_exit_kind never = mu_exit_kind_not_started(MU_START_EXEC, ENOENT);
    assert_int_equal(mu_exit_kind_code(&left), 0);
    assert_int_equal(mu_exit_kind_code(&failed), 3);
    assert_int_equal(mu_exit_kind_code(&killed), -1);
    assert_int_equal(mu_exit_kind_code(&stolen), -1);
    assert_int_equal(mu_exit_kind_code(&never), -1);
}

static void a_text_is_cut_off_where_the_room_ends(void **state)
{
    (void)state;
    char text[8];
    struct mu_exit_kind kind = ended(CLD_EXITED, 3);
    assert_string_equal(mu_exit_kind_text(&kind, NULL, text, sizeof text), "exit co");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_0_is_left_and_no_failure),
        cmocka_unit_test(other_codes_are_failures),
        cmocka_unit_test(signals_have_plain_words),
        cmocka_unit_test(every_classic_signal_has_a_name),
        cmocka_unit_test(only_a_dump_sets_the_core_flag),
        cmocka_unit_test(a_failed_start_names_step_path_and_error),
        cmocka_unit_test(a_stolen_status_counts_as_failed),
        cmocka_unit_test(an_exit_without_a_goodbye_says_what_was_not_called),
        cmocka_unit_test(a_code_is_of_those_that_end_by_themselves),
        cmocka_unit_test(a_text_is_cut_off_where_the_room_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
