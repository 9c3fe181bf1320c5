/* MPI_Allreduce of one integer, again and again: prints median, 99 % and maximum of all calls of
 * all processes, in us.
 *
 *     mpirun -np N allreduce REPS NODES
 *
 * Rank r runs where node r * NODES / N of muster would. */
#define _GNU_SOURCE
#include "part.h"

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { WARM = 50 };

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

/* Of mpirun. */
static int number(const char *variable)
{
    const char *text = getenv(variable);
    if (text != NULL)
        return atoi(text);
    fprintf(stderr, "allreduce: no %s: mpirun sets it\n", variable);
    exit(1);
}

int main(int argc, char **argv)
{
    int rank, size, reps = argc > 1 ? atoi(argv[1]) : 1000, nodes = argc > 2 ? atoi(argv[2]) : 1;
    if (nodes > 1) /* before there are threads */
        keep_to_part(number("OMPI_COMM_WORLD_RANK") * nodes / number("OMPI_COMM_WORLD_SIZE"),
                     nodes);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *us = calloc((size_t)reps, sizeof *us);
    double *all = rank == 0 ? calloc((size_t)reps * (size_t)size, sizeof *all) : NULL;
    for (int i = -WARM; i < reps; i++) {
        unsigned long mine = ~(1ul << rank % 64), decided;
        double from = MPI_Wtime();
        MPI_Allreduce(&mine, &decided, 1, MPI_UNSIGNED_LONG, MPI_BAND, MPI_COMM_WORLD);
        if (i >= 0)
            us[i] = (MPI_Wtime() - from) * 1e6;
    }
    MPI_Gather(us, reps, MPI_DOUBLE, all, reps, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        size_t count = (size_t)reps * (size_t)size;
        qsort(all, count, sizeof *all, compare);
        printf("%.3f %.3f %.3f\n", all[count / 2], all[count * 99 / 100], all[count - 1]);
    }
    MPI_Finalize();
    return 0;
}
