// The main of every test binary.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#if defined(__SANITIZE_ADDRESS__)
// Tests ask for more memory than there is and expect a Status; the sanitizer would end the process
// instead.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif
