// emulated.hpp: what the false driver asks of the emulation. One thread at a time.
#ifndef BRIM_EMULATED_HPP
#define BRIM_EMULATED_HPP
#include <string>

#include "emulate.hpp"

namespace emulate {
typedef void (*kernel_function)(const void *args);

// Runs a kernel to its end, or to its first problem.
void launch(const char *name, kernel_function kernel, const void *args, index3 blocks, unsigned threads, size_t shared_bytes);
std::string take_problem(); // "" if there was none since it was last asked
void seed(uint64_t value);  // of the order of threads and blocks

// Of a thread's copies into shared memory (emulate_matrix.cpp): there are none; there are none left, or that is a problem.
void begin_copies(unsigned thread);
void end_copies();

// Global memory: full of NaN; nullptr when there is no more.
void *take(size_t size);
bool give(void *memory); // false: it was not taken
size_t in_use();
bool is_inside(const void *at, size_t size);
} // namespace emulate
#endif
