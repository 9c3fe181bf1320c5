/* News: whatever is read well is written back to the same bytes. */
#include "wire/peer/news.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mu_news news;
    if (!mu_news_decode(data, size, &news))
        return 0;
    uint8_t bytes[MU_NEWS_BYTES_MAX];
    size_t count = mu_news_encode(&news, bytes);
    assert(count == size && memcmp(bytes, data, size) == 0);
    return 0;
}
