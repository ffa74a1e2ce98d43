#include "array_output.hpp"

#include <unistd.h>

#include <utility>

namespace cornerturn::cli {
namespace {

std::string header_text(const io::NpyHeader& header, bool raw) {
  return raw ? std::string() : io::format_npy_header(header);
}

files::Place output_place(const std::string& path) {
  return path == "-" ? files::Place{path, STDOUT_FILENO} : files::place_of(path);
}

}  // namespace

ArrayOutput::ArrayOutput(const std::string& name, const std::string& path, io::NpyHeader header,
                         bool raw, files::Sync sync)
    : header_(std::move(header)),
      bytes_(io::array_bytes(header_.shape, header_.item_size)),
      header_bytes_(static_cast<std::int64_t>(header_text(header_, raw).size())),
      file_(output_place(path), files::label_of(name, path), header_bytes_ + bytes_, sync) {
  file_.file().write(header_text(header_, raw).data(), header_bytes_);
}

}  // namespace cornerturn::cli
