#include "io/array_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cornerturn/error.hpp"
#include "files/journal.hpp"
#include "files/mark.hpp"
#include "files/output_file.hpp"
#include "files/place.hpp"

namespace cornerturn::io {
namespace {

constexpr std::int64_t spool_piece = std::int64_t{4} << 20;

[[noreturn]] void refuse(const File& file, const std::string& rule, Status status) {
  throw Error(status, fmt::format("{} {}", file.label(), rule));
}

// Reads the header with plain reads, so that pipes and files are alike; what was read is returned.
// An unfinished one is taken for a whole one.
std::string read_header(const File& file, bool unfinished) {
  std::string bytes(npy_preamble_size, '\0');
  const auto take = [&](std::size_t from) {
    const auto wanted = static_cast<std::int64_t>(bytes.size() - from);
    const std::int64_t got = file.read_some(bytes.data() + from, wanted);
    bytes.resize(from + static_cast<std::size_t>(got));
  };
  take(0);
  if (unfinished && bytes.size() > npy_version_offset) {
    bytes[npy_version_offset] = static_cast<char>(bytes[npy_version_offset] & ~npy_unfinished);
  }
  const auto offset = static_cast<std::size_t>(npy_data_offset(bytes));
  if (const std::size_t have = bytes.size(); have < offset) {
    bytes.resize(offset);
    take(have);
  }
  return bytes;
}

InputArray open_any(const std::string& path, const InputOptions& options) {
  InputArray input;
  bool unfinished = false;
  if (options.in_place) {
    input.file = files::open_to_change(path, options.argument);
    // A crash may have left a part of a new header: the last change is made again.
    const std::string place = files::place_of(path).path;
    unfinished = files::Journal::waiting(place, input.file, files::Sync::no).has_value();
  } else {
    if (path == "-" && ::isatty(STDIN_FILENO) != 0) {
      throw Error(Status::invalid_argument,
                  label_of(options.argument, path) +
                      " is a terminal: an array comes from a file, or through | or <");
    }
    input.file = path == "-" ? File(STDIN_FILENO, label_of(options.argument, path), false)
                             : open_input(path, options.argument);
    if (const auto why = files::why_unfinished(files::place_of(path).path, input.file)) {
      refuse(input.file, *why, Status::invalid_argument);
    }
  }
  // Standard input may be a file that somebody has read a part of.
  if (input.file.is_regular()) input.offset = ::lseek(input.file.descriptor(), 0, SEEK_CUR);
  input.raw = options.raw;
  if (options.raw) {
    input.header.descr = options.descr;
    input.header.item_size = options.item_size;
    input.header.shape = options.shape;
  } else {
    try {
      const std::string bytes = read_header(input.file, unfinished);
      input.header = parse_npy_header(bytes);
      input.offset += npy_data_offset(bytes);
    } catch (const Error& error) {
      const std::string what = error.what();
      if (what.rfind(input.file.label(), 0) == 0) throw;
      refuse(input.file, what, error.status());
    }
  }
  input.bytes = array_bytes(input.header.shape, input.header.item_size);
  return input;
}

[[noreturn]] void refuse_size(const InputArray& input, std::int64_t have, bool more) {
  refuse(input.file,
         fmt::format("{}: {} of {}-byte elements takes {} bytes, {}{} are there",
                     have < input.bytes ? "is truncated" : "has bytes after the array",
                     shape_text(input.header.shape), input.header.item_size, input.bytes,
                     more ? "at least " : "", have),
         Status::invalid_argument);
}

void spool(InputArray& input, const std::string& directory) {
  File target;
  Buffer buffer;
  if (directory.empty()) {
    input.spooled = Buffer(input.bytes);
  } else {
    target = files::temporary_file(directory, input.bytes);
    buffer = Buffer(spool_piece);
  }
  std::int64_t done = 0;
  while (done < input.bytes) {
    const std::int64_t piece = std::min(input.bytes - done, spool_piece);
    std::byte* place = directory.empty() ? input.spooled.data() + done : buffer.data();
    const std::int64_t got = input.file.read_some(place, piece);
    if (target.is_open()) target.write_at(place, got, done);
    done += got;
    if (got < piece) refuse_size(input, done, false);
  }
  char extra = 0;
  if (input.raw && input.file.read_some(&extra, 1) > 0) refuse_size(input, done + 1, true);
  if (target.is_open()) {
    input.file = std::move(target);
    input.offset = 0;
  }
}

}  // namespace

InputArray open_header(const std::string& path, const InputOptions& options) {
  return open_any(path, options);
}

void require_whole(InputArray& input) {
  const std::optional<files::Mark> mark = files::read_mark(input.file);
  const std::int64_t have = (mark ? mark->file_bytes : input.file.size()) - input.offset;
  if (have < input.bytes) refuse_size(input, have, false);
  input.bytes_after = have - input.bytes;
}

InputArray open_array(const std::string& path, const InputOptions& options) {
  InputArray input = open_any(path, options);
  if (input.file.is_regular()) {
    require_whole(input);
    if (input.bytes_after > 0 && (options.raw || options.in_place)) {
      refuse_size(input, input.bytes + input.bytes_after, false);
    }
  } else {
    spool(input, options.spool_directory);
  }
  return input;
}

}  // namespace cornerturn::io
