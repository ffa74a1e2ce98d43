// What sample programs include for options, times and comparisons.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "helper_image.h"
#include "helper_string.h"
#include "helper_timer.h"

// Is the distance of the two arrays, relative to the first one's length, at most `most`?
inline bool sdkCompareL2fe(const float* reference, const float* data, unsigned count, float most) {
  double difference = 0;
  double length = 0;
  for (unsigned i = 0; i < count; ++i) {
    const double distance = static_cast<double>(reference[i]) - data[i];
    difference += distance * distance;
    length += static_cast<double>(reference[i]) * reference[i];
  }
  return length > 0 && std::sqrt(difference / length) < most;
}
template <class T, class S>
bool compareData(const T* reference, const T* data, unsigned count, S most, float share) {
  unsigned wrong = 0;
  for (unsigned i = 0; i < count; ++i) {
    const double distance = static_cast<double>(reference[i]) - static_cast<double>(data[i]);
    wrong += std::fabs(distance) <= static_cast<double>(most) ? 0 : 1;
  }
  return static_cast<float>(wrong) <= static_cast<float>(count) * share;
}
