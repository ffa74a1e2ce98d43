// Writes what the page knows of the rungs into a file. It is not installed.
#include <exception>
#include <fstream>
#include <iostream>

#include "workshop/lab/rung_data.hpp"

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: write_rungs FILE\n";
    return 2;
  }
  try {
    std::ofstream file(arguments[1]);
    file << cornerturn::lab::rung_data();
    file.close();
    if (file) return 0;
    std::cerr << arguments[1] << " cannot be written\n";
  } catch (const std::exception& error) {
    std::cerr << "write_rungs: " << error.what() << "\n";
  }
  return 1;
}
