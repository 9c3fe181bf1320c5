/* Prints whatever happens to the job that it is a process of:  muster run -n 4 watch  */
#include <muster.h>

#include <stdio.h>

int main(void)
{
    struct muster *m;
    struct muster_error error;
    if (muster_open(&m, &error) != 0) {
        fprintf(stderr, "watch: %s\n", error.text);
        return 1;
    }
    printf("process %u of %u, on node %u of %u\n", muster_rank(m), muster_size(m), muster_node(m),
           muster_nodes(m));
    fflush(stdout);

    struct muster_event event;
    while (muster_next(m, &event, MUSTER_FOREVER, &error) == 1) {
        printf("process %u hears: %s", muster_rank(m), event.text);
        if (event.type == MUSTER_EVENT_PROCESS || event.type == MUSTER_EVENT_NODE)
            printf(" (%s, %.3f ms ago)", event.is_state ? "earlier" : "news", event.age_ns / 1e6);
        printf("\n");
        fflush(stdout);
    }
    fprintf(stderr, "watch: %s\n", error.text);
    muster_close(m);
    return 1;
}
