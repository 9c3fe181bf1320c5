#define _GNU_SOURCE
#include "daemon/pmix/loader.h"

#include <stdlib.h>

/* The processes are given the topology of the host that hwloc finds here: else each would look for
 * every PCI device itself, which takes longer than all the rest.  Where many nodes are on one host
 * they find the cores only, because each daemon would look.  Who has set the variable knows better.
 */
#define HWLOC_VARIABLE "HWLOC_COMPONENTS"
#define HWLOC_LITTLE   "-linux:0x78,-x86,-pci,-opencl,-cuda,-nvml,-gl,-rsmi"

/* Job data in memory that is sent, not in shared files, which somebody would have to remove when
 * this daemon is killed.  And a lost connection is known at once, not a second later. */
static const char *const settings[][2] = {
    {"PMIX_MCA_gds", "hash"},
    {"PMIX_MCA_psec", "native"},
    {"PMIX_MCA_pcompress", "^zlib"},
    {"PMIX_MCA_prm", "^slurm"},
    {"PMIX_MCA_pmix_event_caching_window", "0"},
};

/* When 'muster run' is itself a process of some PMIx server: this daemon is not. */
static void forget_others(void)
{
    for (char **at = environ; *at != NULL;) {
        char name[128];
        size_t length = strcspn(*at, "=");
        bool other = strncmp(*at, "PMIX_", 5) == 0 && length < sizeof name;
        if (other) {
            memcpy(name, *at, length);
            name[length] = '\0';
            unsetenv(name);
            at = environ; /* it has moved */
        } else {
            at++;
        }
    }
}

void mu_pmix_environment(bool shares_host)
{
    if (shares_host)
        setenv(HWLOC_VARIABLE, HWLOC_LITTLE, 0);
    forget_others();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        setenv(settings[i][0], settings[i][1], 1);
}
