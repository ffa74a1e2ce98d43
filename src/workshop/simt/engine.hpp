// Runs the threads of a block one after the other. A thread runs until it meets a barrier, a
// shuffle, a warp barrier or its end; then the next one runs on a stack of its own. Lanes of a warp
// run in order, then the next warp, so that the order is always the same.
//
//   warp 0   lane 0 ==| lane 1 ==| ... lane 31 ==|           all 32 meet: released together
//   warp 1                                         lane 0 ==| ...
//   all warps meet at the block's barrier: released together
//
// A thread that never waits needs no stack of its own: the next one starts where it ended.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/context.hpp"
#include "workshop/simt/access_history.hpp"
#include "workshop/simt/fiber.hpp"
#include "workshop/simt/finding.hpp"
#include "workshop/simt/global_memory.hpp"
#include "workshop/simt/shared_shadow.hpp"
#include "workshop/simt/warp_log.hpp"

namespace cornerturn::simt {

/// fast: addresses are checked for bounds and alignment, barriers for divergence.
/// recording: every access is checked against all others, and each warp's requests are visited.
enum class Mode { fast, recording };

using Visitor = std::function<void(const Request&)>;

class Engine {
 public:
  Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  /// Runs `thread(user)` for each thread of the launch, block after block.
  void run(std::string kernel, const Launch& launch, Mode mode, GlobalMemory& memory,
           const Visitor& visitor, void (*thread)(void* user), void* user);

  /// When recording: a thread that makes more accesses and waits than this is stopped, and the
  /// launch with it. 0: no limit.
  void limit_steps(std::uint64_t steps) { step_limit_ = steps; }

  /// Kernels come from a program that was not written for the emulator: it moves its bytes itself
  /// and only says what it touches. Then lanes wait for the lanes of a mask, threads that have
  /// ended are not waited for, and a launch is left by `stop`, not by an exception.
  /// Its shared memory lies where the program has it: while another block runs, `take` has the
  /// bytes that lie there, and `put` puts them back and says that the block goes on.
  struct SharedKeeper {
    std::vector<std::byte> (*take)(std::size_t bytes) = nullptr;
    void (*put)(const std::vector<std::byte>& bytes) = nullptr;
  };
  void serve_program(SharedKeeper keeper) {
    program_ = true;
    keeper_ = keeper;
  }
  /// So many blocks of a program's launch may have begun and not ended.
  void limit_residents(std::uint64_t blocks) { most_residents_ = blocks; }
  /// Of a launch's blocks only `blocks`, spread over the grid, are told to the visitor; 0: all are.
  void count_blocks(std::uint64_t blocks) { counted_blocks_ = blocks; }
  /// After so many accesses the blocks that follow run in the fast mode. 0: no limit.
  void limit_recorded(std::uint64_t accesses) { record_limit_ = accesses; }

  const std::vector<Finding>& findings() const { return findings_; }
  std::uint64_t finding_count() const { return finding_count_; }
  std::int64_t shared_bytes() const;

  // What the context of the running thread asks for. ------------------------------------------
  const Launch& launch() const { return launch_; }
  const Dim3& block_id() const { return block_id_; }
  const Dim3& thread_id() const { return threads_[current_].id; }
  int thread_index() const { return static_cast<int>(current_); }

  void barrier(const Site& site);
  void warp_barrier(const Site& site);

  /// A program's barriers (warp_groups.cpp). All lanes of the mask that have not ended meet.
  void warp_barrier(std::uint32_t mask, const Site& site);
  /// The lanes that the running lane wanted to meet when it last waited, and those that came.
  struct Meeting {
    std::uint32_t mask = 0;
    std::uint32_t lanes = 0;
  };
  Meeting last_meeting() const { return {threads_[current_].mask, threads_[current_].met}; }
  struct Votes {
    int yes = 0;
    int all = 0;
  };
  /// The block's barrier, and how many threads came to it with `yes`.
  Votes vote(bool yes, const Site& site);
  /// All blocks of the launch meet (resident_blocks.cpp), which may all be resident.
  void grid_barrier(const Site& site);
  /// The lanes that come here before any lane of the warp has to wait elsewhere.
  std::uint32_t converge(const Site& site);
  /// Lets the others run first: for a thread that waits for what another one stores.
  void pause(const Site& site);
  /// Ends the launch; what its threads have on their stacks is dropped.
  [[noreturn]] void stop();

  /// A slot of 8 bytes a lane, of the running thread's warp. `exchange` fills the thread's own and
  /// returns when all lanes have filled theirs.
  using Slot = std::uint64_t;
  const Slot* exchange(Slot value, const Site& site);
  /// Of a program: valid until the lane waits again; the slots of other lanes are 0.
  const Slot* exchange(std::uint32_t mask, Slot value, const Site& site);

  /// Shared memory of the block: where the array with this key begins. Each thread meets the arrays
  /// in the same order.
  std::uint32_t static_shared(const void* key, std::uint64_t bytes) {
    if (!arrays_.empty() && arrays_.front().key == key) return arrays_.front().address;
    return find_static_shared(key, bytes);
  }
  std::uint32_t dynamic_shared() const { return 0; }

  /// Where the bytes are, if the access is allowed; else a finding is noted. In the fast mode most
  /// accesses hit the memory that the last one of their kind hit: that much is inlined.
  const std::byte* global_load(const void* p, int width, bool active, const Site& site) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    if (mode_ == Mode::fast) {
      if (!active) return nullptr;
      if (last_loaded_.allows(address, width)) return static_cast<const std::byte*>(p);
    }
    return checked_global_load(p, width, active, site);
  }
  std::byte* global_store(void* p, int width, bool active, const Site& site) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    if (mode_ == Mode::fast) {
      if (!active) return nullptr;
      if (last_stored_.allows(address, width)) return static_cast<std::byte*>(p);
    }
    return checked_global_store(p, width, active, site);
  }
  const std::byte* shared_load(std::uint32_t address, int width, bool active, const Site& site) {
    return shared_access(address, width, active, site, Op::shared_load);
  }
  void prefetch(const void* p, const Site& site);
  std::byte* shared_store(std::uint32_t address, int width, bool active, const Site& site) {
    return shared_access(address, width, active, site, Op::shared_store);
  }

  void copy_async(std::uint32_t to, const void* from, int width, bool through_l1, bool active,
                  const Site& site);
  void commit_async();
  void wait_async(int pending, const Site& site);

  std::uint32_t take_ticket(std::uint32_t* counter, const Site& site);
  void announce(std::uint32_t* flag, const Site& site);
  void wait_for(const std::uint32_t* flag, const Site& site);

  /// What a program is about to touch (watched_access.cpp): `width` bytes, 1 to 16, which lie in
  /// the memory. `bytes` is where they are.
  void touch(Watched& memory, std::uint64_t offset, int width, Op op, How how, const Site& site);
  void touch_shared(std::uint32_t address, int width, Op op, How how, const Site& site,
                    const void* bytes);
  /// `from`: as many bytes as the memory has there, which may be none.
  void touch_copy(std::uint32_t to, std::byte* into, Watched* memory, std::uint64_t offset,
                  const void* from, int width, int from_bytes, bool through_l1, const Site& site);
  void touch_matrix_row(Op op, std::uint32_t address, const Site& site, const void* bytes);
  void fence() { fenced_ = true; }
  /// An atomic or volatile access to a flag by which threads order themselves.
  void read_flag(const void* flag, const Site& site);
  void write_flag(const void* flag, const Site& site);
  /// Stacks for blocks of as many threads, and where they lie: first byte and size.
  void make_stacks(std::uint64_t threads);
  std::pair<const std::byte*, std::size_t> stacks() const { return stacks_.all(); }
  /// Touchers are numbered from launch to launch. Before the numbers run out, whoever keeps
  /// histories must forget them.
  bool numbers_run_out() const { return first_block_ > 0x7fffffffU; }
  void number_anew() { first_block_ = 0; }
  /// The warp whose requests the visitor is told.
  std::size_t told_warp() const { return current_warp_; }
  bool counting() const { return counting_; }
  /// Accesses of the launch that were not told, since a warp had made too many without meeting.
  std::uint64_t uncounted() const { return uncounted_; }

  /// One row of ldmatrix or stmatrix: logged under the lane that gave its address.
  void log_matrix_row(Op op, std::uint32_t address, bool active, const Site& site);
  /// A lane's bytes of a matrix row: checked, not logged.
  std::byte* matrix_bytes(Op op, std::uint32_t address, int width, const Site& site);

 private:
  static constexpr std::uint32_t none = 0xffffffffU;
  static constexpr std::uint64_t largest_shared = 227 * 1024;

  /// Memory in which an access was found to be allowed.
  struct Range {
    std::uintptr_t first = 0;
    std::uintptr_t bytes = 0;

    bool allows(std::uintptr_t address, int width) const {
      const std::uintptr_t offset = address - first;
      const auto size = static_cast<std::uintptr_t>(width);
      return offset < bytes && bytes - offset >= size && address % size == 0;
    }
  };
  struct AsyncCopy {
    std::uint32_t to = 0;
    const std::byte* from = nullptr;
    int width = 0;
    int group = 0;
    std::byte* into = nullptr;  ///< of a program
    int zeros = 0;              ///< bytes at the end that the source does not have
  };
  struct Thread {
    Dim3 id;
    Fiber* fiber = nullptr;
    Site waits_at;
    bool started = false;
    unsigned exchanges = 0;
    int group = 0;
    std::uint64_t steps = 0;
    std::uint32_t mask = 0;  // lanes that a program's lane waits for; 0: those that come
    std::uint32_t met = 0;   // lanes that it has met
    bool exchanges_now = false;
    Slot slot = 0;
    std::vector<AsyncCopy> copies;
  };
  struct Stopped {};
  struct Warp {
    std::uint32_t ready = 0;
    std::uint32_t at_warp = 0;
    std::uint32_t at_barrier = 0;
    std::uint32_t at_grid = 0;
    std::uint32_t ended = 0;
    std::uint32_t paused = 0;
    std::uint32_t all = 0;
    std::uint32_t epoch = 0;
    std::array<std::array<Slot, 32>, 2> slots;
    std::vector<std::array<Slot, 32>> gathered;  // of a program's groups, by their lowest lane
    WarpLog log;
  };

  // A block that has begun and not ended, while others run.
  struct Resident {
    std::uint64_t linear = 0;
    bool released = false;  // all blocks have met at the grid's barrier, it may go on
    bool fenced = false;
    std::uint32_t paused = 0;
    std::uint32_t epoch = 0;
    Votes votes;
    Votes result;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    std::vector<std::pair<Fiber*, Fiber::Image>> stacks;
    std::vector<std::byte> shared;
    SharedShadow shadow;
  };

  static void fiber_main(Fiber& self, void* engine);
  void work(Fiber& self);
  void make_threads();
  void begin_block(std::uint64_t linear);
  void go_on();
  void run_blocks();
  bool next_block();
  Resident leave_block();
  void return_to(Resident block);
  void release_grid();
  void check_grid_waiters();
  bool others_wait() const;
  void wait();
  std::uint32_t pick();
  bool release_warp(Warp& warp);
  bool release_block();
  bool release_groups(Warp& warp);
  bool release_group(Warp& warp, std::uint32_t lanes);
  void explain_stuck(Warp& warp);
  bool resume_paused();
  void choose_mode(std::uint64_t linear);
  void prepare_fibers(std::size_t count);

  void note(FindingKind kind, std::string memory, std::uint64_t address, std::optional<Party> first,
            std::optional<Party> second, std::string detail, bool warning = false);
  Party party(std::uint32_t thread, const Site& site, Action action, int bytes = 0) const;
  Party party(const Toucher& who, Action action, int bytes) const;
  Toucher toucher(std::uint16_t site) const;
  std::string lane_text() const;
  Dim3 block_of(std::uint64_t linear) const;
  void step(const Site& site, Action action);
  Party me(const Site& site, Op op, int bytes) const;
  std::uint16_t number(const Site& site);
  Request& log(Op op, int width, bool active, std::uint64_t address, const Site& site);
  Moment now(std::uint16_t site) const;
  Buffer* checked_global(const void* p, int width, const Site& site, Op op);
  bool checked_shared(std::uint32_t address, int width, const Site& site, Op op);
  std::uint32_t find_static_shared(const void* key, std::uint64_t bytes);
  const std::byte* checked_global_load(const void* p, int width, bool active, const Site& site);
  std::byte* checked_global_store(const void* p, int width, bool active, const Site& site);
  std::byte* shared_access(std::uint32_t address, int width, bool active, const Site& site, Op op) {
    if (mode_ == Mode::fast) {
      if (!active) return nullptr;
      if (last_shared_.allows(address, width)) return shared_.data() + address;
    }
    return checked_shared_access(address, width, active, site, op);
  }
  std::byte* checked_shared_access(std::uint32_t address, int width, bool active, const Site& site,
                                   Op op);
  void shadow_shared(std::uint32_t address, int width, const Site& site, std::uint16_t number,
                     Op op);
  void check_read(Buffer& buffer, std::uint64_t offset, int width, const Site& site, Op op);
  void report_unwritten_outputs();
  void count_step(const Site& site, Action action);
  std::uint16_t log_touch(Op op, int width, std::uint64_t address, const Site& site);
  struct Race;
  void note_race(const Race& race);
  void settle();

  std::string kernel_;
  Launch launch_;
  Mode mode_ = Mode::fast;
  GlobalMemory* memory_ = nullptr;
  BlockOrder order_;
  const Visitor* visitor_ = nullptr;
  void (*body_)(void*) = nullptr;
  void* user_ = nullptr;

  Dim3 block_id_;
  std::uint32_t block_linear_ = 0;
  std::uint32_t current_ = 0;
  std::size_t current_warp_ = 0;
  bool abandoned_ = false;
  std::exception_ptr failure_;
  std::uint32_t clock_ = 0;
  std::uint32_t block_epoch_ = 0;

  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  StackPool stacks_;
  std::unique_ptr<Fiber[]> fibers_;
  std::size_t fiber_count_ = 0;
  std::vector<Fiber*> free_;
  Fiber main_;

  struct SharedArray {
    const void* key = nullptr;
    std::uint32_t address = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<SharedArray> arrays_;
  Range last_loaded_;
  Range last_stored_;
  Range last_shared_;
  std::vector<std::byte> shared_;
  std::uint32_t shared_used_ = 0;
  SharedShadow shadow_;

  std::vector<Site> sites_;
  std::vector<Finding> findings_;
  std::uint64_t finding_count_ = 0;
  std::uint64_t step_limit_ = 0;

  // Of programs. ---------------------------------------------------------------------------
  bool program_ = false;
  bool counting_ = true;
  bool fenced_ = false;  // somebody of the block has put a fence
  bool stopped_ = false;
  bool slowly_ = false;  // the launch records
  std::uint32_t paused_ = 0;
  bool resumed_ = false;  // paused threads have gone on, and since then nobody else
  SharedKeeper keeper_;
  std::uint64_t most_residents_ = 1;
  std::uint64_t next_block_ = 0;
  std::vector<Resident> residents_;
  std::optional<Dim3> ended_;  // a block that has
  Votes votes_;
  Votes result_;
  std::uint64_t counted_blocks_ = 0;
  std::uint64_t record_limit_ = 0;
  std::uint64_t recorded_ = 0;
  std::uint64_t uncounted_ = 0;
  std::uint32_t first_block_ = 0;  // touchers of earlier launches have a number up to this

  // A store that collides with another: when the bytes do not change by it, both stored the same.
  struct Doubt {
    bool open = false;
    FindingKind kind = FindingKind::race;
    std::string memory;
    std::uint64_t address = 0;
    Party first;
    Party second;
    std::string detail;
    const std::byte* bytes = nullptr;
    std::size_t width = 0;
    std::array<std::byte, 16> before = {};
  };
  Doubt doubt_;

  struct KnownSite {
    Site site;
    std::uint16_t number = 0xffff;
  };
  std::array<KnownSite, 512> known_sites_;
};

}  // namespace cornerturn::simt
