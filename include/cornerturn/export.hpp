// CT_API marks what the shared library exports; everything else stays hidden.
#pragma once

#if defined(_WIN32)
#define CT_API
#else
#define CT_API __attribute__((visibility("default")))
#endif
