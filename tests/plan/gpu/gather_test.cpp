// Where gather's arguments say that elements lie, in each of their forms, and what it reads of a
// sparse source.
#include "plan/gpu/gather.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/gpu/gather/chunks.hpp"
#include "plan/gpu/gather/places.hpp"
#include "plan/gpu/gather/repeated.hpp"
#include "plan/gpu/gather/units.hpp"
#include "plan/gpu/sectors.hpp"
#include "plan/gpu/transposition.hpp"
#include "plan/planner.hpp"
#include "support/draws.hpp"
#include "support/random_problem.hpp"

namespace cornerturn::plan::gpu {
namespace {

using kernels::DeepPlaces;
using kernels::FarPlaces;
using kernels::NearPlaces;
using kernels::Offsets;
using kernels::WidePlaces;

// Where element number `n` in the destination's order lies.
Offsets place_of(const Problem& problem, std::int64_t n) {
  Offsets place;
  for (int i = problem.rank(); i-- > 0;) {
    const Mode& mode = problem.modes[i];
    place.src += n % mode.extent * mode.src_stride;
    place.dst += n % mode.extent * mode.dst_stride;
    n /= mode.extent;
  }
  return place;
}

// A problem of single bytes: `rank` modes, the source's strides in the other order, and `scale`
// apart.
Problem reversed(int rank, std::int64_t extent, std::int64_t scale) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(1);
  std::int64_t below = 1;
  for (int i = 0; i < rank; ++i, below *= extent) {
    problem.modes.push_back({extent, below * scale * (i % 3 == 1 ? -1 : 1), 0});
  }
  below = 1;
  for (int i = rank; i-- > 0; below *= extent) problem.modes[i].dst_stride = below;
  return problem;
}

template <class Form>
void expect_places(const Problem& problem) {
  const auto ready = gather::Family::prepare({}, problem);
  ASSERT_TRUE(std::holds_alternative<Form>(ready.args.form)) << to_string(problem);
  const Form& form = std::get<Form>(ready.args.form);
  const std::int64_t all = problem.elements();
  EXPECT_EQ(form.elements, static_cast<std::uint64_t>(all));
  test::RandomProblems random(7);
  for (int i = 0; i < 300; ++i) {
    const std::int64_t numbers[] = {std::min<std::int64_t>(i, all - 1),
                                    all - 1 - std::min<std::int64_t>(i, all - 1),
                                    random.uniform(0, all - 1)};
    typename Form::Index n[3];
    for (int k = 0; k < 3; ++k) n[k] = static_cast<typename Form::Index>(numbers[k]);
    Offsets at[3];
    form.walk.at(n, at);
    for (int k = 0; k < 3; ++k) {
      const Offsets expected = place_of(problem, numbers[k]);
      ASSERT_EQ(at[k].src, expected.src) << to_string(problem) << " " << numbers[k];
      ASSERT_EQ(at[k].dst, expected.dst) << to_string(problem) << " " << numbers[k];
    }
  }
}

TEST(GatherPlaces, FewModesNearEachOther) {
  for (int rank = 1; rank <= NearPlaces::Way::max_rank; ++rank) {
    expect_places<NearPlaces>(reversed(rank, 7, 1));
    expect_places<NearPlaces>(reversed(rank, 2, 1 << 20));
  }
  expect_places<NearPlaces>(reversed(1, (1 << 30) - 1, 2));
}

TEST(GatherPlaces, ManyModesNearEachOther) {
  for (int rank = NearPlaces::Way::max_rank + 1; rank < DeepPlaces::Way::max_rank; ++rank) {
    expect_places<DeepPlaces>(reversed(rank, 2, 1));
  }
  expect_places<DeepPlaces>(reversed(18, 3, 4));
}

TEST(GatherPlaces, FarApart) {
  expect_places<FarPlaces>(reversed(2, 3, 1 << 30));
  expect_places<FarPlaces>(reversed(11, 3, std::int64_t{1} << 40));
  expect_places<FarPlaces>(reversed(29, 2, 50));
  expect_places<FarPlaces>(reversed(1, (1 << 30) - 1, 3));
}

TEST(GatherPlaces, MoreElementsThan32BitsCount) {
  expect_places<WidePlaces>(reversed(1, 1 << 30, 1));
  expect_places<WidePlaces>(reversed(4, 1000, 1));
  for (int rank = 30; rank <= kernels::max_axes; ++rank) {
    expect_places<WidePlaces>(reversed(rank, 2, 1));
  }
}

// Units may begin before their rows and end behind them, by less than 16 elements.
TEST(GatherUnits, WithTheirRowsAndBeyond32BitsSuffice) {
  const auto taken = [](std::int64_t step) {
    Problem problem;
    problem.src_type = problem.dst_type = ElementType::bytes(1);
    problem.modes = {{8, 1, 64}, {64, step, 1}};
    EXPECT_TRUE(gather::is_near(problem));
    return gather::takes_units(problem);
  };
  constexpr std::int64_t all = std::int64_t{1} << 31;
  EXPECT_TRUE(taken(64));
  EXPECT_TRUE(taken(all / 80));
  EXPECT_FALSE(taken(all / 78));
  EXPECT_FALSE(taken(-all / 78));
}

// A unit may begin behind the end of its row, too.
TEST(GatherUnits, BehindTheEndOfTheDestination32BitsSuffice) {
  const auto taken = [](std::int64_t reach) {
    Problem problem;
    problem.src_type = problem.dst_type = ElementType::bytes(1);
    problem.modes = {{2, 1, reach - 50}, {50, 64, 1}};
    EXPECT_TRUE(gather::is_near(problem));
    return gather::takes_units(problem);
  };
  constexpr std::int64_t all = std::int64_t{1} << 31;
  EXPECT_TRUE(taken(all - 20));
  EXPECT_FALSE(taken(all - 1));
}

// Where the elements of a problem lie, in the order of their places in the destination.
std::vector<std::pair<std::int64_t, std::int64_t>> places_of(const Problem& problem) {
  std::vector<std::pair<std::int64_t, std::int64_t>> places;
  for (std::int64_t n = 0; n < problem.elements(); ++n) {
    const Offsets at = place_of(problem, n);
    places.emplace_back(problem.dst_offset + at.dst, problem.src_offset + at.src);
  }
  return places;
}

TEST(GatherChunks, AndWhatTheyLeaveAreAllElements) {
  test::RandomProblems random(11, {.max_bytes = 20 << 10});
  int tested = 0, left = 0;
  for (int i = 0; i < test::draws(400); ++i) {
    Problem problem = normalise(random.next());
    // One place for each, and several.
    ModeList modes{{3, 0, 1 << 20}};
    for (const Mode& mode : problem.modes) modes.push_back(mode);
    if (i % 2 == 0) problem.modes = modes;
    if (!gather::takes_chunks(problem)) continue;
    for (const int chunk : {2, 5, 32}) {
      const Problem rest = gather::behind_chunks(problem, chunk);
      auto places = places_of(gather::in_chunks(problem, chunk));
      const auto behind = places_of(rest);
      places.insert(places.end(), behind.begin(), behind.end());
      std::sort(places.begin(), places.end());
      auto expected = places_of(problem);
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(places, expected) << to_string(problem) << ", chunks of " << chunk;
      left += behind.empty() ? 0 : 1;
      ++tested;
    }
  }
  EXPECT_GT(tested, test::draws(200));
  EXPECT_GT(left, test::draws(100));
}

// Eight bytes of each 48, 16 of them 768 bytes apart from the next ones, which follow each other in
// the destination.
Problem sparse(std::int64_t columns, std::int64_t rows, std::int64_t step, int times) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(8);
  problem.modes = {{columns, step, rows * 8 * times}, {times, 0, rows * 8}, {rows, 768, 8}};
  return normalise(problem);
}

TEST(GatherChunks, TakeNeighboursThatTheL2WouldLose) {
  const auto order_of = [](const Problem& problem) {
    const plan::Plan plan = make_plan(problem, device_named("h200"), {1, "gather"});
    return plan.chosen.config.as<GatherConfig>().chunk;
  };
  EXPECT_EQ(order_of(sparse(16, 1'900'000, 48, 6)), 32);
}

TEST(GatherChunks, AreOfferedForLongRowsThatShareBursts) {
  const auto sizes_of = [](const Problem& problem) {
    std::vector<int> sizes;
    const plan::Plan plan = make_plan(problem, device_named("h200"), {1, "gather"});
    for (const Candidate& candidate : plan.candidates) {
      const auto config = candidate.config.as<GatherConfig>();
      if (config.chunk > 0) sizes.push_back(config.chunk);
    }
    std::sort(sizes.begin(), sizes.end());
    return sizes;
  };
  const std::vector<int> both{4, 32}, none;
  EXPECT_EQ(sizes_of(sparse(16, 70'000, 48, 2)), both);
  EXPECT_EQ(sizes_of(sparse(16, 65'000, 48, 2)), none);   // less than 16 MiB
  EXPECT_EQ(sizes_of(sparse(12, 100'000, 64, 2)), none);  // none in the same burst
  EXPECT_EQ(sizes_of(sparse(16, 100'000, 8, 2)), none);   // they touch each other
  EXPECT_EQ(sizes_of(sparse(16, 200'000, 48, 1)), none);  // nothing repeats
  EXPECT_EQ(sizes_of(sparse(16, 128, 48, 1'100)), both);
  EXPECT_EQ(sizes_of(sparse(16, 127, 48, 1'100)), none);  // less than four of the larger ones
}

// The first of `fields` of such structures, an array a field.
Problem some_fields(int size, std::int64_t fields, std::int64_t structure, std::int64_t count) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(size);
  problem.modes = {{fields, size, count * size}, {count, structure, size}};
  return normalise(problem);
}

// Forms that planning adds for fields.
std::vector<std::string> forms_for(const Problem& problem) {
  std::vector<std::string> forms;
  const plan::Plan plan = make_plan(problem, device_named("h200"), {1, "gather"});
  for (const Candidate& candidate : plan.candidates) {
    const auto config = candidate.config.as<GatherConfig>();
    EXPECT_NE(config.form, GatherForm::repeated);
    if (config.form == GatherForm::units) forms.emplace_back("units");
    if (config.chunk > 0) forms.push_back(std::to_string(config.chunk));
  }
  std::sort(forms.begin(), forms.end());
  return forms;
}

TEST(GatherFields, ComeInUnitsAndChunks) {
  const std::vector<std::string> all{"128", "32", "units"}, none;
  EXPECT_EQ(forms_for(some_fields(2, 3, 64, 10'000'000)), all);
  EXPECT_EQ(forms_for(some_fields(2, 4, 18, 10'000'000)), all);
  EXPECT_EQ(forms_for(some_fields(2, 5, 18, 10'000'000)), none);  // most of the structure
  EXPECT_EQ(forms_for(some_fields(2, 64, 256, 1'000'000)), all);
  EXPECT_EQ(forms_for(some_fields(2, 65, 300, 1'000'000)), none);  // so many are a matrix
  EXPECT_EQ(forms_for(some_fields(2, 1, 64, 10'000'000)), none);   // nobody reads beside it
  EXPECT_EQ(forms_for(some_fields(2, 3, 64, 174'763)), all);
  EXPECT_EQ(forms_for(some_fields(2, 3, 64, 174'762)), none);  // less than 1 MiB
  // Structures of more than 2 GiB have no units, and elements of 16 bytes are vectors.
  EXPECT_EQ(forms_for(some_fields(2, 3, 64, 40'000'000)), (std::vector<std::string>{"128", "32"}));
  EXPECT_EQ(forms_for(some_fields(16, 3, 96, 1'000'000)), (std::vector<std::string>{"16", "4"}));
}

// Arrays to fields: sparse rows have candidates with one element a thread, however many they are.
TEST(GatherFields, ThatLieFarApartAreStoredByManyBlocks) {
  const auto has_single = [](std::int64_t structure, std::int64_t count) {
    Problem problem;
    problem.src_type = problem.dst_type = ElementType::bytes(4);
    problem.modes = {{count, 4, structure}, {3, 4 * count, 4}};
    const plan::Plan plan = make_plan(normalise(problem), device_named("h200"), {1, "gather"});
    return std::any_of(plan.candidates.begin(), plan.candidates.end(), [](const auto& candidate) {
      return candidate.config.template as<GatherConfig>().form == GatherForm::single;
    });
  };
  EXPECT_TRUE(has_single(76, 5'000'000));
  EXPECT_FALSE(has_single(75, 5'000'000));
  EXPECT_TRUE(has_single(76, (1 << 30) / 3));
  EXPECT_FALSE(has_single(76, (1 << 30) / 3 + 1));
}

TEST(GatherFields, OfLargeStructuresAreMovedByThem) {
  for (const int size : {1, 2, 4, 8}) {
    const plan::Plan plan =
        make_plan(some_fields(size, 3, 160, 4'000'000), device_named("h200"), {});
    ASSERT_EQ(plan.kernel(), "gather") << size;
    const auto config = plan.chosen.config.as<GatherConfig>();
    EXPECT_TRUE(config.form == GatherForm::units || config.chunk > 0) << size;
  }
}

TEST(GatherChunks, OfElementsFarApartAreTwo) {
  Problem problem = sparse(16, 100, 48, 2);
  EXPECT_EQ(gather::chunk_of(problem, 256), 32);
  problem.modes.back().dst_stride = std::int64_t{1} << 32;
  EXPECT_EQ(gather::chunk_of(problem, 256), 2);
}

TEST(GatherEstimates, SectorsOfAWarpAreThoseOfItsElements) {
  for (const std::int64_t extent : {7, 31, 32, 33}) {
    for (std::int64_t stride = -70; stride <= 70; ++stride) {
      Problem problem;
      problem.src_type = problem.dst_type = ElementType::bytes(1);
      problem.modes = {{40, 1000, extent}, {extent, stride, 1}};
      std::set<std::int64_t> sectors;
      for (std::int64_t i = 0; i < 32; ++i) {
        sectors.insert((i / extent * 1000 + i % extent * stride) >> 5);
      }
      EXPECT_EQ(gather::sectors_of_warp(problem), static_cast<int>(sectors.size()))
          << extent << " elements, " << stride << " B apart";
    }
  }
}

// In chunks the source passes once. Short ones are stored in more pieces, and so are all that begin
// between sectors.
TEST(GatherChunks, AreEstimatedToReadBurstsOnce) {
  const DeviceInfo device = device_named("h200");
  const SharedCosts shared;
  const Problem problem = sparse(16, 1'900'000, 48, 6);
  const Model model{device, shared, least_traffic(problem)};
  const auto estimate = [&](int chunk) {
    return gather::Family::demand({GatherForm::repeated, 0, chunk}, problem, model, {});
  };
  EXPECT_LT(estimate(32).src_bytes, 0.6 * estimate(0).src_bytes);
  EXPECT_LT(estimate(32).dst_bytes, estimate(4).dst_bytes);
  EXPECT_LT(estimate(0).dst_bytes, estimate(32).dst_bytes);
  const auto stored = [&](std::int64_t rows) {
    const Problem order = gather::in_chunks(sparse(16, rows, 48, 6), 4);
    return dst_moved(model, gather::runs_of_chunks(order));
  };
  EXPECT_GT(stored(1'900'001), 1.5 * stored(1'900'000));
}

TEST(Transpositions, AWalkHasRoomForTheirMatrices) {
  const auto with_modes = [](int count) {
    Problem problem;
    problem.src_type = problem.dst_type = ElementType::bytes(1);
    std::int64_t stride = 6;
    for (int i = 0; i < count; ++i, stride *= 2) problem.modes.push_back({2, stride, stride});
    problem.modes.push_back({3, 1, 2});
    problem.modes.push_back({2, 3, 1});
    return transposition_of(problem);
  };
  EXPECT_TRUE(with_modes(kernels::Walk::max_rank).has_value());
  EXPECT_FALSE(with_modes(kernels::Walk::max_rank + 1).has_value());
  kernels::WalkMaker<kernels::Walk> maker;
  for (int i = 0; i < kernels::Walk::max_rank; ++i) maker.add(2, 8, 8);
  maker.add(1, 8, 8);  // takes no room
  EXPECT_THROW(maker.add(2, 8, 8), std::logic_error);
}

// Two of twelve elements are taken, one after the other: all of the source passes twice, which is
// more than the L2 keeps. That holds however far apart such pairs are.
TEST(GatherEstimates, ASparseSourcePassesOnceForEachOfItsParts) {
  const DeviceInfo device = device_named("h200");
  const SharedCosts shared;
  const std::int64_t rows = 3'000'000, parts = 2, times = 6, row = 4 * rows;
  const auto read = [&](std::int64_t step) {
    Problem problem;
    problem.src_type = problem.dst_type = ElementType::bytes(4);
    problem.modes = {{parts, 4, times * row}, {times, 0, row}, {rows, step, 4}};
    const Model model{device, shared, least_traffic(problem)};
    return gather::demand_of_repeated({}, problem, model, {}).src_bytes;
  };
  const auto passes = [&](std::int64_t step) {
    return read(step) / static_cast<double>(step * rows);
  };
  EXPECT_NEAR(passes(48), 2, 0.15);
  EXPECT_NEAR(passes(32), 2, 0.15);
  EXPECT_NEAR(passes(8), 2, 0.15);
}

}  // namespace
}  // namespace cornerturn::plan::gpu
