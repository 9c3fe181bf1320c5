/* Any bytes are the end of a child by a signal, or nothing. */
#include "host/early_ends.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mu_early_end end;
    uint32_t parent = 0;
    if (size < sizeof parent)
        return 0;
    memcpy(&parent, data, sizeof parent);
    if (mu_early_ends_decode(data + sizeof parent, size - sizeof parent, (pid_t)parent, &end))
        assert(end.signal > 0 && end.signal < 128);
    return 0;
}
