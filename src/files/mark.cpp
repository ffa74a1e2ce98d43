#include "files/mark.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/visible.hpp"
#include "files/checksum.hpp"
#include "files/place.hpp"

namespace cornerturn::files {
namespace {

constexpr std::array<char, 16> magic_of_mark = {'C', 'O', 'R', 'N', 'E', 'R', 'T', 'U',
                                                'R', 'N', ' ', 'H', 'A', 'L', 'F', '\n'};
constexpr std::string_view magic_of_old_journals = "CTJOURN";
static_assert(sizeof(Mark) <= sector);

std::int64_t mark_offset(std::int64_t file_bytes) {
  return (file_bytes + sector - 1) / sector * sector;
}

bool is_whole(const Mark& mark, std::int64_t number, std::int64_t size) {
  return mark.magic == magic_of_mark && mark.check == checksum_of_block(mark) &&
         mark.number % 2 == number && mark.file_bytes >= 0 && mark.file_bytes <= size &&
         marked_bytes(mark.file_bytes) == size && mark.journal.back() == '\0';
}

}  // namespace

std::int64_t marked_bytes(std::int64_t file_bytes) {
  return mark_offset(file_bytes) + 2 * sector;
}

void write_mark(const File& file, std::uint64_t work, std::int64_t number, std::int64_t file_bytes,
                const std::string& journal) {
  Mark mark{magic_of_mark, work, number, file_bytes, {}, 0};
  std::copy_n(journal.data(), std::min(journal.size(), mark.journal.size() - 1),
              mark.journal.data());
  mark.check = checksum_of_block(mark);
  std::array<std::byte, sector> bytes{};
  std::memcpy(bytes.data(), &mark, sizeof mark);
  const std::int64_t begin = mark_offset(file_bytes);
  // The first one, number 1, is in the second sector: so the file has its size at once.
  file.write_at(bytes.data(), sector, begin + number % 2 * sector);
}

std::optional<Mark> read_mark(const File& file) {
  const std::int64_t size = file.size();
  if (size < 2 * sector || size % sector != 0) return std::nullopt;
  std::optional<Mark> last;
  for (const std::int64_t number : {0, 1}) {
    Mark mark{};
    file.read_at(&mark, sizeof mark, size - (2 - number) * sector);
    if (is_whole(mark, number, size) && (!last || mark.number > last->number)) last = mark;
  }
  return last;
}

File open_own(const std::string& path, int flags, const std::string& argument) {
  File file(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY),
            label_of(argument, path));
  struct stat status {};
  if (!file.is_open()) return file;
  if (::fstat(file.descriptor(), &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_uid == ::geteuid()) {
    return file;
  }
  file.close();
  errno = EPERM;
  return file;
}

bool is_old_journal(const File& journal) {
  std::array<char, magic_of_old_journals.size()> magic{};
  if (journal.size() < static_cast<std::int64_t>(magic.size())) return false;
  journal.read_at(magic.data(), magic.size(), 0);
  return std::string_view(magic.data(), magic.size()) == magic_of_old_journals;
}

std::optional<std::string> why_unfinished(const std::string& path, const File& file) {
  if (!file.is_regular()) return std::nullopt;
  if (const auto mark = read_mark(file)) {
    return fmt::format(
        "is in the middle of a transposition in place: where that was interrupted, "
        "`cornerturn transpose FILE --in-place` with the same options finishes it, in the folder "
        "of its journal '{}'",
        visible(mark->journal_name()));
  }
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string old = directory_of(path) + "/." + name.substr(0, 220) + ".cornerturn-journal";
  const File journal = open_own(old, O_RDONLY, "the journal");
  if (!journal.is_open() || !is_old_journal(journal)) return std::nullopt;
  return fmt::format(
      "is in the middle of a transposition in place that an older version of cornerturn began: "
      "only that version can finish it; where the file is as it should be, remove '{}'",
      visible(old));
}

std::optional<std::string> why_unfinished(const std::string& path) {
  const std::string place = place_of(path).path;
  struct stat status {};
  if (::stat(place.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const File file(::open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), path);
  if (!file.is_open()) return std::nullopt;
  return why_unfinished(place, file);
}

}  // namespace cornerturn::files
