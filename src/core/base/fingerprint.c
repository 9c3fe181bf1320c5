#include "core/base/fingerprint.h"

static uint64_t mix(uint64_t x, uint64_t multiplier)
{
    x *= multiplier;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 29;
    return x;
}

void mu_fingerprint_init(struct mu_fingerprint *print)
{
    print->a = 0x6d75737465722061u;
    print->b = 0x206c6c6f7220656bu;
}

void mu_fingerprint_add(struct mu_fingerprint *print, uint64_t value)
{
    print->a = mix(print->a ^ value, 0x9e3779b97f4a7c15u);
    print->b = mix(print->b + value, 0xc2b2ae3d27d4eb4fu) + print->a;
}

void mu_fingerprint_add_member(struct mu_fingerprint *sum, const struct mu_fingerprint *member)
{
    sum->a += mix(member->a, 0x9e3779b97f4a7c15u);
    sum->b += mix(member->b, 0xc2b2ae3d27d4eb4fu);
}
