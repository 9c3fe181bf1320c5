/* Usage: mpi_spawn COUNT HOW, as a program of Open MPI
 * Every parent and COUNT children that they spawn together: children send their rank to parent 0,
 * which sends it back doubled; then all add up their ranks over both sides.
 * HOW: once, or twice (two jobs of children after each other), tree (child 0 spawns one more),
 * missing (a program that does not exist: the error is said), die (child 0 kills itself, and the
 * parents end without it). */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The sum of all ranks of the other side comes to each. */
static int sum_of_others(MPI_Comm others)
{
    int rank, sum;
    MPI_Comm_rank(others, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, others);
    return sum;
}

static void be_child(MPI_Comm parents, const char *how, const char *self)
{
    int rank, answer, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(how, "die") == 0 && rank == 0)
        raise(SIGKILL);
    if (strcmp(how, "die") == 0)
        pause();
    MPI_Send(&rank, 1, MPI_INT, 0, 1, parents);
    MPI_Recv(&answer, 1, MPI_INT, 0, 2, parents, MPI_STATUS_IGNORE);
    printf("child %d of %d: answer %d, parents %d\n", rank, size, answer, sum_of_others(parents));
    fflush(stdout);
    if (strcmp(how, "tree") == 0) {
        MPI_Comm below;
        char *argv[] = {"1", "once", NULL};
        int code, value;
        MPI_Comm_spawn(self, argv, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &below, &code);
        if (rank == 0) {
            MPI_Recv(&value, 1, MPI_INT, 0, 1, below, MPI_STATUS_IGNORE);
            MPI_Send(&value, 1, MPI_INT, 0, 2, below);
        }
        sum_of_others(below);
        MPI_Comm_disconnect(&below);
    }
    MPI_Comm_disconnect(&parents);
}

static void be_parent(int count, const char *how, const char *self)
{
    MPI_Comm children;
    char number[16];
    snprintf(number, sizeof number, "%d", count);
    char *argv[] = {number, (char *)how, NULL};
    int rank, *codes = calloc((size_t)count, sizeof *codes);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(how, "missing") == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        int failed = MPI_Comm_spawn("/no/such/program", argv, count, MPI_INFO_NULL, 0,
                                    MPI_COMM_WORLD, &children, codes);
        printf("parent %d: %s\n", rank, failed != MPI_SUCCESS ? "an error" : "no error");
        free(codes);
        return;
    }
    MPI_Comm_spawn(self, argv, count, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes);
    free(codes);
    if (strcmp(how, "die") == 0) {
        printf("parent %d: spawned\n", rank);
        fflush(stdout);
        pause();
    }
    for (int i = 0; rank == 0 && i < count; i++) {
        int value;
        MPI_Recv(&value, 1, MPI_INT, i, 1, children, MPI_STATUS_IGNORE);
        value *= 2;
        MPI_Send(&value, 1, MPI_INT, i, 2, children);
    }
    printf("parent %d: children %d\n", rank, sum_of_others(children));
    MPI_Comm_disconnect(&children);
}

int main(int argc, char **argv)
{
    MPI_Comm parents;
    if (argc != 3)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL)
        be_child(parents, argv[2], argv[0]);
    for (int i = 0; parents == MPI_COMM_NULL && i < (strcmp(argv[2], "twice") == 0 ? 2 : 1); i++)
        be_parent(atoi(argv[1]), argv[2], argv[0]);
    MPI_Finalize();
    return 0;
}
