#include "peer_main.hpp"

#include <fmt/format.h>

#include "cornerturn/error.hpp"
#include "harness/session.hpp"

namespace cornerturn::bench {

int peer_main(int argc, const char* const* argv, Subject& subject) {
  CLI::App app("Measures " + subject.name() + " by the rules of `cornerturn bench`");
  SessionOptions options;
  // Peers can be hundreds of times slower than memcpy: three runs, or what fits into a few seconds.
  StopRule rule;
  rule.min_runs = 3;
  rule.budget = 0.5;
  rule.slow_budget = 1.5;
  add_session_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return run_session(options, subject, rule);
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}

}  // namespace cornerturn::bench
