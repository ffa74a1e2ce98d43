// The harness as a shared library: python_peers.py calls it with functions that do the work, so
// that Python's peers are measured by the very same code.
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "peer_main.hpp"

namespace cornerturn::bench {
namespace {

using PrepareFunction = void (*)(const char* case_json, int threads, char* answer,
                                 std::size_t size);
using RunFunction = void (*)(const void* src, void* dst);

class PythonSubject : public Subject {
 public:
  PythonSubject(const char* peer, const char* peer_version, PrepareFunction on_prepare,
                RunFunction on_run)
      : name_(peer), version_(peer_version), prepare_(on_prepare), run_(on_run) {}

  std::string name() const override { return name_; }
  std::string version() const override { return version_; }

  std::string prepare(const Case& c, int threads, const std::byte*, std::byte*) override {
    const nlohmann::json json = {
        {"element_bytes", c.element_bytes},     {"shape", c.shape},
        {"src_strides", c.src_strides},         {"dst_strides", c.dst_strides},
        {"src_offset", c.src_offset},           {"dst_offset", c.dst_offset},
        {"src_span_bytes", c.src_span_bytes()}, {"dst_span_bytes", c.dst_span_bytes()}};
    char answer[256] = "";
    prepare_(json.dump().c_str(), threads, answer, sizeof(answer));
    return answer;
  }

  void run(const std::byte* src, std::byte* dst) override { run_(src, dst); }

 private:
  std::string name_;
  std::string version_;
  PrepareFunction prepare_;
  RunFunction run_;
};

}  // namespace
}  // namespace cornerturn::bench

/// Measures the peer behind `prepare` and `run`. `prepare` leaves "" or the reason for skipping the
/// case in `answer`.
extern "C" __attribute__((visibility("default"))) int cornerturn_bench_peer(
    int argc, const char* const* argv, const char* name, const char* version,
    cornerturn::bench::PrepareFunction prepare, cornerturn::bench::RunFunction run) {
  try {
    cornerturn::bench::PythonSubject subject(name, version, prepare, run);
    return cornerturn::bench::peer_main(argc, argv, subject);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}
