#include "array_output.hpp"

#include <unistd.h>

namespace cornerturn::cli {

ArrayOutput::ArrayOutput(const std::string& name, const std::string& path, io::NpyHeader header,
                         bool raw)
    : header_(std::move(header)), bytes_(io::array_bytes(header_.shape, header_.item_size)) {
  const std::string text = raw ? "" : io::format_npy_header(header_);
  header_bytes_ = static_cast<std::int64_t>(text.size());
  if (path == "-") {
    pipe_ = io::File(STDOUT_FILENO, io::label_of(name, path), false);
  } else {
    file_ = std::make_unique<io::OutputFile>(path, header_bytes_ + bytes_, name);
  }
  file().write(text.data(), header_bytes_);
}

void ArrayOutput::prepare() {
  if (file_) file_->prepare();
}

void ArrayOutput::commit() {
  if (file_) file_->commit();
}

}  // namespace cornerturn::cli
