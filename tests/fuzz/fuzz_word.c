/* Any bytes as a word of a witness: read or refused; what was read is written as it came. */
#include "wire/peer/word.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mu_word word;
    uint8_t bytes[MU_WORD_BYTES_MAX];
    if (mu_word_decode(data, size, &word) != NULL)
        return 0;
    if (mu_word_encode(&word, bytes) != size || memcmp(bytes, data, size) != 0)
        abort();
    return 0;
}
