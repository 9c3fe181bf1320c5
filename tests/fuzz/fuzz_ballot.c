/* What a process says about agreements: whatever is read well is written back to the same bytes. */
#include "wire/local/ballot.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mu_ballot ballot;
    if (mu_ballot_decode(data, size, &ballot) != NULL)
        return 0;
    uint8_t bytes[MU_BALLOT_BYTES_MAX];
    size_t count = mu_ballot_encode(&ballot, bytes);
    assert(count == size && memcmp(bytes, data, size) == 0);
    return 0;
}
