// Launches: what the device would refuse, the run in the engine, and what it has found.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>

#include "cornerturn/error.hpp"
#include "workshop/cuda_source/run/config.hpp"
#include "workshop/cuda_source/run/crash.hpp"
#include "workshop/cuda_source/run/findings.hpp"
#include "workshop/cuda_source/run/launch_error.hpp"
#include "workshop/cuda_source/run/report.hpp"
#include "workshop/cuda_source/run/running.hpp"

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
__thread unsigned cornerturn_thread_idx[3];
__thread unsigned cornerturn_block_idx[3];
__thread unsigned cornerturn_block_dim[3];
__thread unsigned cornerturn_grid_dim[3];
__thread int cornerturn_warp_size = 32;
__thread unsigned char cornerturn_dynamic_shared[227 * 1024] __attribute__((aligned(1024)));
}
// NOLINTEND(readability-identifier-naming)

namespace cornerturn::cuda_source {

constinit Running running;

namespace {

int error_left = 0;
std::size_t dynamic_allowed = 0;
constexpr const char* code_file = "";

// Arrays as they lie for the calling thread: each thread has its own thread-local storage.
void find_arrays(const Launch& launch) {
  const ProgramSymbols& symbols = program();
  static const auto first_dynamic = reinterpret_cast<std::uintptr_t>(&cornerturn_dynamic_shared);
  const auto dynamic = reinterpret_cast<std::uintptr_t>(&cornerturn_dynamic_shared);
  const std::uintptr_t shift = dynamic - first_dynamic;
  running.locals = {symbols.tls_first + shift, symbols.tls_bytes};
  running.last_array = nullptr;
  if (running.arrays.empty()) {
    for (const Variable& variable : symbols.shared) {
      running.arrays.push_back({variable.name, variable.address, variable.bytes});
    }
    running.arrays.push_back({"dynamic shared memory", first_dynamic, 0});
    std::sort(running.arrays.begin(), running.arrays.end(),
              [](const SharedArray& a, const SharedArray& b) { return a.first < b.first; });
  }
  running.plain_locals.clear();
  for (const Variable& variable : symbols.plain_locals) {
    running.plain_locals.push_back({variable.address + shift, variable.bytes});
  }
  static std::uintptr_t shifted = 0;
  for (SharedArray& array : running.arrays) {
    if (shifted != shift) array.clean = false;
    array.first += shift - shifted;
    array.address = SharedArray::unplaced;
    if (array.first != dynamic) continue;
    array.bytes = launch.dynamic_shared;
    array.address = launch.dynamic_shared > 0 ? 0 : SharedArray::unplaced;
    array.clean = false;
  }
  shifted = shift;
}

// What an earlier block has left in shared memory is no more there.
void poison_shared() {
  for (SharedArray& array : running.arrays) {
    if (array.address != SharedArray::unplaced) array.poison();
  }
}

void show_block() {
  const Dim3& block = engine().block_id();
  cornerturn_block_idx[0] = block.x;
  cornerturn_block_idx[1] = block.y;
  cornerturn_block_idx[2] = block.z;
  running.block = block;
}

void begin_block() {
  poison_shared();
  show_block();
  ++running.begun_blocks;
  if (engine().counting()) ++running.counts->counted_blocks;
}

// The arrays' bytes as they lie for the engine. What no thread of the block has placed is not among
// them.
std::vector<std::byte> take_shared(std::size_t bytes) {
  std::vector<std::byte> image(bytes);
  for (const SharedArray& array : running.arrays) {
    if (array.address == SharedArray::unplaced) continue;
    std::memcpy(image.data() + array.address, reinterpret_cast<const void*>(array.first),
                array.bytes);
  }
  return image;
}

// A block that has waited for others goes on.
void put_shared(const std::vector<std::byte>& image) {
  for (SharedArray& array : running.arrays) {
    if (array.address == SharedArray::unplaced) continue;
    if (array.address >= image.size()) {
      array.poison();
      continue;
    }
    std::memcpy(reinterpret_cast<void*>(array.first), image.data() + array.address, array.bytes);
    array.clean = false;
  }
  show_block();
}

void run_thread(void*) {
  if (running.begun_blocks == 0 || !(engine().block_id() == running.block)) begin_block();
  show_indices();
  running.thread(running.call);
}

// Refusals
// ------------------------------------------------------------------------------------------

std::string refusal(const guest::Launch& launch, int& error) {
  const DeviceModel& device = config().device;
  constexpr unsigned most_grid[] = {0x7fffffffU, 65535, 65535};
  const unsigned most_block[] = {device.threads_block, device.threads_block, 64};
  error = invalid_configuration;
  for (int i = 0; i < 3; ++i) {
    const char axis = "xyz"[i];
    if (launch.grid[i] == 0 || launch.grid[i] > most_grid[i]) {
      return fmt::format("the grid has {} blocks in {}; 1 to {} are possible", launch.grid[i], axis,
                         most_grid[i]);
    }
    if (launch.block[i] == 0 || launch.block[i] > most_block[i]) {
      return fmt::format("a block has {} threads in {}; 1 to {} are possible", launch.block[i],
                         axis, most_block[i]);
    }
  }
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (threads > device.threads_block) {
    return fmt::format("a block has {} threads; the device has {} at most", threads,
                       device.threads_block);
  }
  const std::size_t allowed = std::max(device.shared_block, dynamic_allowed);
  error = invalid_value;
  if (launch.dynamic_shared > device.shared_block_optin) {
    return fmt::format(
        "the launch asks for {} B of dynamic shared memory; a block has {} B at most",
        launch.dynamic_shared, device.shared_block_optin);
  }
  if (launch.dynamic_shared > allowed) {
    return fmt::format(
        "the launch asks for {} B of dynamic shared memory; more than {} B need "
        "cudaFuncSetAttribute first",
        launch.dynamic_shared, allowed);
  }
  error = 0;
  return "";
}

void note_launch(const char* kernel, Where where, std::string message) {
  ProgramFinding finding;
  finding.kind = "launch";
  finding.kernel = kernel;
  finding.message = std::move(message);
  finding.places.emplace_back();
  finding.places.back().where = where;
  finding.places.back().action = "launches";
  add_finding(std::move(finding));
}

// Findings of the engine
// ------------------------------------------------------------------------------

const char* kind_name(simt::FindingKind kind) {
  switch (kind) {
    case simt::FindingKind::race:
      return "race";
    case simt::FindingKind::unwritten_read:
      return "unwritten_read";
    case simt::FindingKind::divergent_barrier:
      return "divergent_barrier";
    case simt::FindingKind::never_ends:
      return "never_ends";
    case simt::FindingKind::misaligned:
      return "misaligned";
    default:
      return "out_of_bounds";
  }
}

const char* action_name(simt::Action action) {
  switch (action) {
    case simt::Action::load:
      return "loads";
    case simt::Action::store:
      return "stores";
    case simt::Action::update:
      return "updates";
    case simt::Action::async_copy:
      return "copies";
    case simt::Action::wait:
      return "waits";
    case simt::Action::end:
      return "has ended";
  }
  return "";
}

FindingPlace place_of(const simt::Party& party) {
  FindingPlace place;
  if (is_code_site(party.site)) place.where = where_of(party.site);
  place.action = action_name(party.action);
  place.bytes = party.bytes;
  place.of_thread = true;
  place.block = party.block;
  place.thread = party.thread;
  return place;
}

void take_finding(const simt::Finding& found) {
  ProgramFinding finding;
  finding.kind = kind_name(found.kind);
  finding.warning = found.warning;
  finding.kernel = running.kernel;
  finding.memory = found.memory.empty() ? "" : found.memory;
  finding.byte = found.address;
  if (found.memory == "shared memory") {
    if (const SharedArray* array = array_of_address(found.address)) {
      finding.memory = array->name;
      finding.byte = found.address - array->address;
    }
  }
  finding.message = found.detail.empty() ? "nobody has written it" : found.detail;
  finding.count = found.count;
  if (found.first) finding.places.push_back(place_of(*found.first));
  if (found.second) finding.places.push_back(place_of(*found.second));
  add_finding(std::move(finding));
}

void take_findings() {
  for (const simt::Finding& found : engine().findings()) {
    if (found.kind == simt::FindingKind::never_ends) set_launch_error(launch_failure);
    take_finding(found);
  }
}

void count(const simt::Request& request) {
  KernelCounts& counts = *running.counts;
  const std::size_t leg = counts.add(request, engine().block_id(), engine().told_warp());
  if (!counts.memory[leg].empty() || simt::is_global(request.op)) return;
  const auto lane = static_cast<std::size_t>(std::countr_zero(request.lanes.active));
  if (const SharedArray* array = array_of_address(request.lanes.address[lane])) {
    counts.memory[leg] = array->name;
  }
}

// How many blocks of the launch the device holds at once, and those that a cooperative one may
// have.
std::uint64_t resident_blocks(const Launch& launch, std::size_t static_shared) {
  const DeviceModel& device = config().device;
  const int on_one = blocks_on_one(device, static_cast<unsigned>(launch.block.count()),
                                   launch.dynamic_shared + static_shared);
  return static_cast<std::uint64_t>(on_one) * static_cast<std::uint64_t>(device.sms);
}

// Static shared memory is known when the kernel has touched it.
bool too_many_blocks(const char* kernel, Where where, const Launch& launch,
                     std::size_t static_shared) {
  const std::uint64_t most = resident_blocks(launch, static_shared);
  if (!running.cooperative || launch.grid.count() <= most) return false;
  note_launch(
      kernel, where,
      fmt::format("the cooperative launch has {} blocks; the device holds {} of them at once",
                  launch.grid.count(), most));
  set_launch_error(cooperative_too_large);
  return true;
}

void run_launch(const char* kernel, Where where, const Launch& launch) {
  simt::GlobalMemory none;
  running.kernel = kernel;
  running.counts = &counts_of(kernel, where, launch);
  const std::size_t known_shared = running.counts->static_shared;
  if (too_many_blocks(kernel, where, launch, known_shared)) return;
  running.begun_blocks = 0;
  find_arrays(launch);
  cornerturn_warp_size = config().device.warp;
  const Dim3* const dims[] = {&launch.block, &launch.grid};
  unsigned* const shown[] = {cornerturn_block_dim, cornerturn_grid_dim};
  for (int i = 0; i < 2; ++i) {
    shown[i][0] = dims[i]->x;
    shown[i][1] = dims[i]->y;
    shown[i][2] = dims[i]->z;
  }
  simt::Engine& runs = engine();
  if (runs.numbers_run_out()) {
    forget_touchers();
    runs.number_anew();
  }
  runs.make_stacks(launch.block.count());
  runs.limit_residents(std::max<std::uint64_t>(1, resident_blocks(launch, known_shared)));
  running.stacks = {reinterpret_cast<std::uintptr_t>(runs.stacks().first), runs.stacks().second};
  running.in_kernel = true;
  try {
    runs.run(kernel, launch, simt::Mode::recording, none, count, &run_thread, nullptr);
  } catch (const std::exception& error) {
    note_launch(kernel, where, error.what());
    set_launch_error(launch_failure);
  }
  running.in_kernel = false;
  take_findings();
  ++running.counts->launches;
  running.counts->blocks += running.begun_blocks;
  running.counts->uncounted += engine().uncounted();
  std::size_t static_bytes = 0;
  for (const SharedArray& array : running.arrays) {
    const bool dynamic =
        array.first == reinterpret_cast<std::uintptr_t>(&cornerturn_dynamic_shared);
    if (array.address != SharedArray::unplaced && !dynamic) static_bytes += array.bytes;
  }
  running.counts->static_shared = std::max(known_shared, static_bytes);
  if (static_bytes > known_shared) too_many_blocks(kernel, where, launch, static_bytes);
}

std::recursive_mutex& launching() {
  static std::recursive_mutex it;
  return it;
}

}  // namespace

simt::Engine& engine() {
  static simt::Engine& it = *new simt::Engine;
  return it;
}

const ProgramSymbols& program() {
  static const ProgramSymbols& it = *new ProgramSymbols(read_program_symbols());
  return it;
}

void start_up() {
  static bool started = false;
  if (started) return;
  started = true;
  const ProgramSymbols& symbols = program();
  running.load_address = symbols.load_address;
  const auto add = [](const std::vector<Variable>& variables, MemoryKind kind) {
    for (const Variable& variable : variables) {
      add_variable(variable.name, reinterpret_cast<void*>(variable.address), variable.bytes, kind);
    }
  };
  add(symbols.device, MemoryKind::variable);
  add(symbols.managed, MemoryKind::variable);
  add(symbols.constant, MemoryKind::constant);
  engine().serve_program({&take_shared, &put_shared});
  engine().limit_steps(config().steps);
  engine().count_blocks(config().blocks);
  engine().limit_recorded(config().recorded);
  catch_crashes();
  report_at_exit();
}

simt::Site site_of(std::uintptr_t code) {
  return {code_file, static_cast<unsigned>(code - running.load_address)};
}

bool is_code_site(const simt::Site& site) {
  return site.file == code_file;
}

Where where_of(const simt::Site& site) {
  return {nullptr, 0, running.load_address + site.line - 1};
}

void show_indices() {
  const Dim3& thread = engine().thread_id();
  cornerturn_thread_idx[0] = thread.x;
  cornerturn_thread_idx[1] = thread.y;
  cornerturn_thread_idx[2] = thread.z;
  running.looks = 0;
}

void note_thread(const char* kind, std::string memory, std::uint64_t byte, std::string message,
                 const char* action, int bytes, const void* code, bool warning) {
  ProgramFinding finding;
  finding.kind = kind;
  finding.warning = warning;
  finding.kernel = running.kernel;
  finding.memory = std::move(memory);
  finding.byte = byte;
  finding.message = std::move(message);
  finding.places.emplace_back();
  FindingPlace& place = finding.places.back();
  place.where = at_code(code);
  place.action = action;
  place.bytes = bytes;
  place.of_thread = true;
  place.block = engine().block_id();
  place.thread = engine().thread_id();
  add_finding(std::move(finding));
}

// Errors
// ------------------------------------------------------------------------------------------------

bool stays(int error) {
  return error >= illegal_address && error != cooperative_too_large;
}

void set_launch_error(int error) {
  if (!stays(error_left)) error_left = error;
}

int launch_error() {
  return error_left;
}

int take_launch_error() {
  const int error = error_left;
  if (!stays(error)) error_left = 0;
  return error;
}

void allow_dynamic_shared_memory(std::size_t bytes) {
  dynamic_allowed = std::max(dynamic_allowed, bytes);
}

}  // namespace cornerturn::cuda_source

namespace cornerturn::guest {

void launch(const char* kernel, Place place, const Launch& launch, void (*thread)(void* call),
            void* call, std::size_t bytes) {
  using namespace cuda_source;
  start_up();
  if (running.in_kernel) refuse("a launch by a kernel (dynamic parallelism)");
  const std::lock_guard lock(launching());
  const Where where{place.file, place.line, 0};
  if (stays(launch_error())) return;
  int error = 0;
  const std::string refused = refusal(launch, error);
  if (!refused.empty()) {
    note_launch(kernel, where, refused);
    set_launch_error(error);
    return;
  }
  running.thread = thread;
  running.call = call;
  running.cooperative = launch.cooperative;
  running.arguments = {reinterpret_cast<std::uintptr_t>(call), bytes};
  cornerturn::Launch shape;
  shape.grid = {launch.grid[0], launch.grid[1], launch.grid[2]};
  shape.block = {launch.block[0], launch.block[1], launch.block[2]};
  shape.dynamic_shared = static_cast<unsigned>(launch.dynamic_shared);
  run_launch(kernel, where, shape);
}

bool in_kernel() {
  return cuda_source::running.in_kernel;
}

unsigned thread_rank() {
  return static_cast<unsigned>(cuda_source::engine().thread_index());
}

void* allocate(std::size_t bytes, int kind, Place place) {
  using cuda_source::MemoryKind;
  cuda_source::start_up();
  const MemoryKind kinds[] = {MemoryKind::device, MemoryKind::managed, MemoryKind::pinned};
  return cuda_source::allocate_memory(bytes, kinds[kind], {place.file, place.line, 0});
}

}  // namespace cornerturn::guest
