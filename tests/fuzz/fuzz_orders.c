/* Orders: any bytes give orders that keep the rules, or one sentence. */
#include "daemon/lifeline.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mu_orders_input input = {.fd = -1}; /* what is in the buffer is all there is */
    struct mu_orders orders;
    struct sockaddr_in addresses[16];
    char text[MU_ORDERS_TEXT_MAX];
    input.to = size < sizeof input.bytes ? size : sizeof input.bytes;
    memcpy(input.bytes, data, input.to);
    const char *wrong = mu_orders_read(&input, &orders, text);
    if (wrong == NULL) {
        assert(orders.machine != 0 && orders.size >= 1 && orders.slot < orders.size);
        assert(strlen(orders.name) >= 1 && strlen(orders.name) <= MU_ORDERS_NAME_MAX);
        if (orders.size <= 16)
            wrong = mu_orders_read_nodes(&input, orders.size, addresses, text);
        for (mu_slot slot = 0; wrong == NULL && orders.size <= 16 && slot < orders.size; slot++)
            assert(addresses[slot].sin_port != 0);
    }
    assert(wrong == NULL || (strlen(wrong) > 0 && strlen(wrong) < sizeof text));
    mu_orders_wipe(&orders);
    mu_orders_lifeline(&input);
    assert(input.from == input.to);
    return 0;
}
