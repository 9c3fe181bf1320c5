/* A program of MPI that goes on when processes of it die, with an MPI library that knows nothing of
 * that:
 *
 *     muster run --nodes 4 -n 8 --on-failure continue mpi_survive [RANK@ROUND | node:RANK@ROUND]...
 *
 * Each round all add up their ranks.  When one dies, a collective that it should have taken part in
 * never ends.  So the collective is started and tested, not waited for; libmuster says meanwhile if
 * somebody has died.  At the end of a round all agree whether everybody has the sum.  If not, the
 * survivors, who are the same for everybody after muster_shrink(), make a communicator of their own
 * by MPI_Comm_create_group(), and do the round again.
 *
 * '5@2' is killed in round 2, 'node:6@4' takes its node along.  (Who dies while the others make
 * their communicator stops them: that function of MPI cannot be tested.) */
#include <mpi.h>
#include <muster.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 6 };

static struct muster *m;
static struct muster_error error;

static _Noreturn void fail(const char *text)
{
    fprintf(stderr, "mpi_survive: %s\n", text);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void die_when_told(int argc, char **argv, unsigned round)
{
    for (int i = 1; i < argc; i++) {
        bool node = strncmp(argv[i], "node:", 5) == 0;
        unsigned rank, when;
        if (sscanf(argv[i] + (node ? 5 : 0), "%u@%u", &rank, &when) != 2)
            fail("who dies is RANK@ROUND or node:RANK@ROUND");
        if (rank != muster_rank(m) || when != round)
            continue;
        if (node)
            kill(getppid(), SIGKILL); /* its daemon: all its processes go with it */
        kill(getpid(), SIGKILL);
    }
}

/* Has anybody failed since the last time that this was asked? */
static bool somebody_failed(void)
{
    struct muster_event event;
    bool failed = false;
    int result;
    while ((result = muster_next(m, &event, MUSTER_NOW, &error)) > 0)
        failed = failed || (event.type == MUSTER_EVENT_PROCESS && event.verdict != MUSTER_LEFT);
    if (result < 0)
        fail(error.text);
    return failed;
}

/* False: it will never end, and stays as it is. */
static bool add_up(MPI_Comm comm, int *sum)
{
    static int mine[ROUNDS * 8], used; /* of collectives that stay */
    int *value = &mine[used++], done = 0;
    MPI_Request request;
    *value = (int)muster_rank(m);
    MPI_Iallreduce(value, sum, 1, MPI_INT, MPI_SUM, comm, &request);
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done && somebody_failed())
            return false;
    }
    return true;
}

static MPI_Comm survivors(int tag)
{
    uint32_t size = muster_group_size(m, MUSTER_ALL);
    int *ranks = malloc(size * sizeof *ranks);
    MPI_Group world, group;
    MPI_Comm comm;
    if (ranks == NULL)
        fail("no memory");
    for (uint32_t i = 0; i < size; i++)
        ranks[i] = (int)muster_group_member(m, MUSTER_ALL, i);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, (int)size, ranks, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &comm);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    free(ranks);
    return comm;
}

int main(int argc, char **argv)
{
    static int sums[ROUNDS * 8];
    unsigned round = 1, tries = 0;
    signal(SIGPIPE, SIG_IGN); /* the library may write to somebody who is gone */
    MPI_Init(&argc, &argv);
    if (muster_open(&m, &error) != 0)
        fail(error.text);
    MPI_Comm comm = MPI_COMM_WORLD;
    while (round <= ROUNDS && tries < ROUNDS * 8) {
        die_when_told(argc, argv, round);
        int *sum = &sums[tries++];
        uint64_t bits = add_up(comm, sum) ? 1 : 0;
        int result = muster_agree(m, MUSTER_ALL, &bits, &error);
        if (result < 0)
            fail(error.text);
        uint32_t number = muster_group_index(m, MUSTER_ALL, muster_rank(m));
        if (result == MUSTER_AGREED && bits != 0) {
            if (number == 0)
                printf("round %u: the ranks of %u processes are %d\n", round,
                       muster_group_size(m, MUSTER_ALL), *sum);
            round++;
            continue;
        }
        if (muster_shrink(m, MUSTER_ALL, &error) < 0)
            fail(error.text);
        comm = survivors((int)tries);
    }
    muster_close(m);
    MPI_Finalize();
    return 0;
}
