/* Comes to the PMIx server as a process that has died, and goes without a goodbye.
 *
 * libpmix counts the processes of this node that a collective waits for, and takes one out when its
 * connection closes.  One that died before it had any would be waited for, and nobody can tell it
 * that.  So this is started in its place, with its environment. */
#include <pmix.h>
#include <unistd.h>

enum { PATIENCE_S = 10 };

int main(void)
{
    pmix_proc_t self;
    alarm(PATIENCE_S);
    _exit(PMIx_Init(&self, NULL, 0) == PMIX_SUCCESS ? 0 : 1);
}
