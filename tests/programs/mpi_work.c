/* A program of MPI as people write them: says what it has computed, from rank 0.
 *
 *     mpi_work hello|ring|sum|window|abort|stay
 *     mpi_work large BYTES
 *
 * In 'abort' the last rank ends all; in 'stay' all stay until somebody ends them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static int ring(void)
{
    int token = 0;
    if (size == 1)
        return 1;
    if (rank > 0)
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    token++;
    MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return token;
}

static int sum(void)
{
    int all = 0;
    MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* One-sided: everybody adds its rank to a number of rank 0. */
static int window(void)
{
    int number = 0;
    MPI_Win win;
    MPI_Win_create(&number, sizeof number, sizeof number, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    return number;
}

/* From rank 0 to the last one, and a byte back for every right one of some. */
static int large(size_t bytes)
{
    enum { STEP = 4099 };
    unsigned char *data = malloc(bytes);
    int wrong = 0, last = size - 1;
    if (data == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; rank == 0 && i < bytes; i += STEP)
        data[i] = (unsigned char)(i / STEP);
    if (rank == 0) {
        MPI_Send(data, (int)bytes, MPI_BYTE, last, 0, MPI_COMM_WORLD);
        MPI_Recv(&wrong, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == last) {
        MPI_Recv(data, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (size_t i = 0; i < bytes; i += STEP)
            wrong += data[i] != (unsigned char)(i / STEP);
        MPI_Send(&wrong, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    free(data);
    return wrong;
}

static void stay(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("stays as a child of %d\n", (int)getppid());
        fflush(stdout);
    }
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    const char *work = argc > 1 ? argv[1] : "hello";
    int result = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(work, "ring") == 0)
        result = ring();
    else if (strcmp(work, "sum") == 0)
        result = sum();
    else if (strcmp(work, "window") == 0)
        result = window();
    else if (strcmp(work, "large") == 0)
        result = large(strtoull(argv[2], NULL, 10));
    else if (strcmp(work, "abort") == 0 && rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    else if (strcmp(work, "abort") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (strcmp(work, "stay") == 0)
        stay();
    if (rank == 0)
        printf("%s of %d: %d\n", work, size, result);
    MPI_Finalize();
    return 0;
}
