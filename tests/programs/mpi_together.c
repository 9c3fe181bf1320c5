/* What an MPI program does to begin with: a ring, a sum, messages that are too long to be sent at
 * once, and who shares a node.  Rank 0 prints one line: its size, how many ranks are on its node,
 * and that all was right.
 *
 *     mpi_together [MEBIBYTES]        of the long message; 1
 *     mpi_together abort              the last rank aborts with 7, and the others wait for ever */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void check(int right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "rank %d of %d: %s is wrong\n", rank, size, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* A token goes round, and everybody adds its rank. */
static void ring(void)
{
    int token = 0, next = (rank + 1) % size, last = (rank + size - 1) % size;
    if (rank > 0)
        MPI_Recv(&token, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    token += rank;
    if (size > 1)
        MPI_Send(&token, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
    if (rank == 0 && size > 1)
        MPI_Recv(&token, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(rank > 0 || token == size * (size - 1) / 2, "the token");
}

static void sum(void)
{
    int64_t mine[1000], all[1000];
    for (int i = 0; i < 1000; i++)
        mine[i] = (int64_t)rank * i;
    MPI_Allreduce(mine, all, 1000, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 1000; i++)
        check(all[i] == (int64_t)i * size * (size - 1) / 2, "the sum");
}

/* To the next one, and from the one before. */
static void long_message(size_t count)
{
    uint64_t *mine = malloc(count * sizeof *mine), *theirs = calloc(count, sizeof *theirs);
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    check(mine != NULL && theirs != NULL, "memory");
    for (size_t i = 0; i < count; i++)
        mine[i] = (uint64_t)rank << 32 | i;
    MPI_Sendrecv(mine, (int)count, MPI_UINT64_T, next, 2, theirs, (int)count, MPI_UINT64_T, last, 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (size_t i = 0; i < count; i++)
        check(theirs[i] == ((uint64_t)last << 32 | i), "a long message");
    free(mine);
    free(theirs);
}

int main(int argc, char **argv)
{
    MPI_Comm node;
    int here;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && strcmp(argv[1], "abort") == 0) {
        MPI_Barrier(MPI_COMM_WORLD); /* nobody is in MPI_Init any more, and fails there first */
        if (rank == size - 1)
            MPI_Abort(MPI_COMM_WORLD, 7);
        for (;;)
            pause();
    }
    size_t mebibytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    ring();
    sum();
    long_message(mebibytes * 1024 * 1024 / sizeof(uint64_t));
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here);
    if (rank == 0)
        printf("%d together, %d here: all right\n", size, here);
    MPI_Comm_free(&node);
    MPI_Finalize();
    return 0;
}
