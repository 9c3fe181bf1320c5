/* A program of MPI of which some exit with code 0 and without MPI_Finalize, after all have met.
 *
 *     mpi_quit RANK|all|none
 *
 * The others come to a barrier, where they wait for it forever. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank;
    const char *who = argc > 1 ? argv[1] : "none";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(who, "all") == 0 || (strcmp(who, "none") != 0 && atoi(who) == rank))
        exit(0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
