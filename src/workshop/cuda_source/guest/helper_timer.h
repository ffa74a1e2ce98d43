// A stop watch, by the names that sample programs use.
#pragma once

#include <chrono>

struct StopWatchInterface {
  std::chrono::steady_clock::time_point begin;
  float milliseconds = 0;
  int sessions = 0;
  bool running = false;
};

inline bool sdkCreateTimer(StopWatchInterface** timer) {
  *timer = new StopWatchInterface;
  return true;
}
inline bool sdkDeleteTimer(StopWatchInterface** timer) {
  delete *timer;
  *timer = nullptr;
  return true;
}
inline bool sdkStartTimer(StopWatchInterface** timer) {
  (*timer)->begin = std::chrono::steady_clock::now();
  (*timer)->running = true;
  return true;
}
inline float cornerturn_since(const StopWatchInterface& timer) {
  const auto now = std::chrono::steady_clock::now();
  return std::chrono::duration<float, std::milli>(now - timer.begin).count();
}
inline bool sdkStopTimer(StopWatchInterface** timer) {
  (*timer)->milliseconds += cornerturn_since(**timer);
  (*timer)->running = false;
  ++(*timer)->sessions;
  return true;
}
inline bool sdkResetTimer(StopWatchInterface** timer) {
  const bool running = (*timer)->running;
  **timer = StopWatchInterface{};
  return !running || sdkStartTimer(timer);
}
inline float sdkGetTimerValue(StopWatchInterface** timer) {
  return (*timer)->milliseconds + ((*timer)->running ? cornerturn_since(**timer) : 0);
}
inline float sdkGetAverageTimerValue(StopWatchInterface** timer) {
  const int sessions = (*timer)->sessions;
  return sessions > 0 ? (*timer)->milliseconds / static_cast<float>(sessions) : 0;
}
