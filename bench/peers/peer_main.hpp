// The program around a peer: the options and the rules of `cornerturn bench`.
#pragma once

#include "harness/subject.hpp"

namespace cornerturn::bench {

/// Parses the command line, measures `subject`, and returns the exit code.
int peer_main(int argc, const char* const* argv, Subject& subject);

}  // namespace cornerturn::bench
