// The calls of this process that change files, written down, and what a disk may hold when they
// stop somewhere: the test binary has its own pwrite, fsync and others, which the layer calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace cornerturn::calls {

struct Call {
  enum class Kind { write, resize, sync, sync_folder, link, unlink };
  Kind kind;
  std::uint64_t file = 0;  ///< its inode
  std::int64_t at = 0;     ///< of a write; the size that a file gets
  std::vector<std::byte> bytes = {};
  std::string name = {};  ///< that a file gets or loses, without its folder
};

/// From its construction to its end all calls are written down. No fsync is waited for.
class Recording {
 public:
  Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording();

  const std::vector<Call>& calls() const { return calls_; }

 private:
  std::vector<Call> calls_;
};

using Bytes = std::vector<std::byte>;

/// The files of a folder.
struct Disk {
  std::map<std::uint64_t, Bytes> files;
  std::map<std::string, std::uint64_t> names;

  static Disk of_folder(const std::string& folder);
  /// Makes `folder` hold these files and no others.
  void write_to(const std::string& folder) const;

  /// Everything that was done before call `stop` is there, as when the process is killed then; and
  /// where `half`, the first half of what that call writes.
  Disk killed(const std::vector<Call>& calls, std::size_t stop, bool half) const;
  /// As when the power fails before call `stop`: of everything since the last sync of a file, or of
  /// the folder, any part is there. A sector of 512 bytes is old or new.
  Disk without_power(const std::vector<Call>& calls, std::size_t stop, std::mt19937& random) const;
  /// The disk where everything is there but what call `lost` did.
  Disk without_call(const std::vector<Call>& calls, std::size_t stop, std::size_t lost) const;
  /// What may be lost then.
  static std::vector<std::size_t> unsynced(const std::vector<Call>& calls, std::size_t stop);
};

}  // namespace cornerturn::calls
