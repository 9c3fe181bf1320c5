// muster.h in C++: it compiles, its functions link, and its structs are the library's.
#include <muster.h>

#include <cstdio>
#include <cstdlib>

int main()
{
    unsetenv("MUSTER_SOCKET");
    muster *m = nullptr;
    muster_error error{};
    muster_event event{};
    int64_t timeouts_ns[] = {MUSTER_NOW, MUSTER_FOREVER};
    bool good = muster_open(&m, &error) == -1 && error.code == MUSTER_E_NOT_A_MEMBER &&
                event.type == 0 && timeouts_ns[0] < timeouts_ns[1];
    std::puts(error.text);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
