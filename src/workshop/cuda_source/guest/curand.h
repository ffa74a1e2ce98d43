// Random numbers for whole arrays, by cuRAND's names. The sequences are not cuRAND's own.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "cornerturn_guest.hpp"

enum curandStatus_t { CURAND_STATUS_SUCCESS = 0 };
typedef curandStatus_t curandStatus;
enum curandRngType_t {
  CURAND_RNG_PSEUDO_DEFAULT = 100,
  CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141,
  CURAND_RNG_PSEUDO_MT19937 = 142,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
  CURAND_RNG_QUASI_DEFAULT = 200,
  CURAND_RNG_QUASI_SOBOL32 = 201,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 202,
  CURAND_RNG_QUASI_SOBOL64 = 203,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 204
};
enum curandOrdering_t {
  CURAND_ORDERING_PSEUDO_BEST = 100,
  CURAND_ORDERING_PSEUDO_DEFAULT = 101,
  CURAND_ORDERING_PSEUDO_SEEDED = 102,
  CURAND_ORDERING_QUASI_DEFAULT = 201
};
enum curandDirectionVectorSet_t {
  CURAND_DIRECTION_VECTORS_32_JOEKUO6 = 101,
  CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6 = 102,
  CURAND_DIRECTION_VECTORS_64_JOEKUO6 = 103,
  CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6 = 104
};
typedef curandDirectionVectorSet_t curandDirectionVectorSet;
typedef unsigned curandDirectionVectors32_t[32];
typedef unsigned long long curandDirectionVectors64_t[64];
typedef std::mt19937_64* curandGenerator_t;

inline curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t) {
  *generator = new std::mt19937_64;
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  delete generator;
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
                                                         unsigned long long seed) {
  generator->seed(seed);
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetStream(curandGenerator_t, cudaStream_t) {
  return CURAND_STATUS_SUCCESS;
}
// Every sequence here is one of pseudo-random numbers, whatever its order or its dimensions.
inline curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator,
                                               unsigned long long offset) {
  generator->discard(offset);
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetGeneratorOrdering(curandGenerator_t, curandOrdering_t) {
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t, unsigned) {
  return CURAND_STATUS_SUCCESS;
}
namespace cornerturn::guest {
// As many as cuRAND has; the first number of each is all that tells them apart.
template <class Vectors, class Number>
curandStatus_t direction_vectors(Vectors** vectors) {
  constexpr std::size_t dimensions = 20000;
  static const auto made = [] {
    auto* all = new Vectors[dimensions]();
    std::mt19937_64 random;
    for (std::size_t i = 0; i < dimensions; ++i) all[i][0] = static_cast<Number>(random());
    return all;
  }();
  *vectors = made;
  return CURAND_STATUS_SUCCESS;
}
}  // namespace cornerturn::guest
inline curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t** vectors,
                                                  curandDirectionVectorSet_t) {
  return ::cornerturn::guest::direction_vectors<curandDirectionVectors32_t, unsigned>(vectors);
}
inline curandStatus_t curandGetDirectionVectors64(curandDirectionVectors64_t** vectors,
                                                  curandDirectionVectorSet_t) {
  return ::cornerturn::guest::direction_vectors<curandDirectionVectors64_t, unsigned long long>(
      vectors);
}
namespace cornerturn::guest {
template <class T, class Draw>
curandStatus_t fill_random(T* device, std::size_t count, Draw draw, Place place) {
  std::vector<T> numbers(count);
  for (T& number : numbers) {
    number = static_cast<T>(draw());
  }
  cudaMemcpy(device, numbers.data(), count * sizeof(T), cudaMemcpyHostToDevice, place);
  return CURAND_STATUS_SUCCESS;
}
}  // namespace cornerturn::guest
inline curandStatus_t curandGenerate(curandGenerator_t generator, unsigned* device,
                                     std::size_t count, CT_GUEST_AT) {
  return ::cornerturn::guest::fill_random(
      device, count, [&] { return (*generator)(); }, place);
}
inline curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* device,
                                            std::size_t count, CT_GUEST_AT) {
  return ::cornerturn::guest::fill_random(
      device, count, [&] { return 1 - std::generate_canonical<double, 24>(*generator); }, place);
}
inline curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* device,
                                                  std::size_t count, CT_GUEST_AT) {
  return ::cornerturn::guest::fill_random(
      device, count, [&] { return 1 - std::generate_canonical<double, 53>(*generator); }, place);
}
inline curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* device,
                                           std::size_t count, float mean, float deviation,
                                           CT_GUEST_AT) {
  std::normal_distribution<double> normal(mean, deviation);
  return ::cornerturn::guest::fill_random(
      device, count, [&] { return normal(*generator); }, place);
}
inline curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* device,
                                                 std::size_t count, double mean, double deviation,
                                                 CT_GUEST_AT) {
  std::normal_distribution<double> normal(mean, deviation);
  return ::cornerturn::guest::fill_random(
      device, count, [&] { return normal(*generator); }, place);
}
