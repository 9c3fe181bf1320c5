#define _GNU_SOURCE
#include "daemon/pmix/loader.h"

#include <stdlib.h>

/* The processes are given the topology of the host that hwloc finds here: else each would look for
 * every PCI device itself, which takes longer than all the rest.  On one host they find the cores
 * only: no device is nearer to one process than to another by more than that, and each daemon would
 * look.  Elsewhere, what only displays and accelerators need is left out: to load X11, OpenCL and
 * libxml2 takes longer than PMIx itself.  Who has set a variable knows better. */
static const char *const hwloc_shared_host[][2] = {
    {"HWLOC_COMPONENTS", "-linux:0x78,-x86,-pci,-opencl,-cuda,-nvml,-gl,-rsmi"},
    {"HWLOC_PLUGINS_PATH", "/nonexistent"},
};
static const char *const hwloc_hosts[][2] = {
    {"HWLOC_PLUGINS_BLACKLIST", "hwloc_gl.so,hwloc_opencl.so,hwloc_xml_libxml.so"},
};

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

static void set(const char *const (*variables)[2], size_t count, bool over)
{
    for (size_t i = 0; i < count; i++)
        setenv(variables[i][0], variables[i][1], over);
}

void mu_pmix_environment(bool shared_host)
{
    if (shared_host)
        set(hwloc_shared_host, sizeof hwloc_shared_host / sizeof *hwloc_shared_host, false);
    else
        set(hwloc_hosts, sizeof hwloc_hosts / sizeof *hwloc_hosts, false);
    forget_others();
    set(settings, sizeof settings / sizeof *settings, true);
}
