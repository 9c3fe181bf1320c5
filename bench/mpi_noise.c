/* Ping-pong, Barrier, Bcast and Allreduce over sizes of messages: prints 'OP BYTES US' for each,
 * the mean of one call (of a ping-pong: one way), because what disturbs a few calls must be in it.
 *
 *     mpi_noise MS        so long for each
 *
 * The ping-pong is between the first and the last rank, so between two nodes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM = 20, BYTES_MAX = 1 << 20 };

static int rank, size;
static char *buffer, *other;

static void ping_pong(int bytes)
{
    int last = size - 1;
    if (rank == 0) {
        MPI_Send(buffer, bytes, MPI_CHAR, last, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_CHAR, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == last) {
        MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
}

static void barrier(int bytes)
{
    (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* With an answer, else the root would run ahead of the others. */
static void bcast(int bytes)
{
    MPI_Bcast(buffer, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(int bytes)
{
    MPI_Allreduce(buffer, other, bytes / (int)sizeof(int), MPI_INT, MPI_MAX, MPI_COMM_WORLD);
}

static double seconds_of(void (*op)(int bytes), int bytes, int count)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double from_s = MPI_Wtime();
    for (int i = 0; i < count; i++)
        op(bytes);
    return MPI_Wtime() - from_s;
}

static void measure(const char *name, void (*op)(int bytes), int bytes, double budget_s)
{
    double warm_s = seconds_of(op, bytes, WARM);
    int count = (int)(budget_s / (warm_s / WARM)) + 1;
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD); /* all must do as many */
    double us = seconds_of(op, bytes, count) / count * 1e6;
    if (rank == 0)
        printf("%s %d %.3f\n", name, bytes, op == ping_pong ? us / 2 : us);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 1024, 65536, BYTES_MAX};
    double budget_s = argc > 1 ? atof(argv[1]) / 1e3 : 0.05;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    buffer = calloc(BYTES_MAX, 1);
    other = calloc(BYTES_MAX, 1);
    if (buffer == NULL || other == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    measure("barrier", barrier, 0, budget_s);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        measure("pingpong", ping_pong, sizes[i], budget_s);
        measure("bcast", bcast, sizes[i], budget_s);
        measure("allreduce", allreduce, sizes[i], budget_s);
    }
    MPI_Finalize();
    return 0;
}
