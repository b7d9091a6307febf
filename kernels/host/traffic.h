// Counts what the global accesses of warps cost: an instruction of a warp touches 32-byte sectors, each of which is moved
// once. Threads run one after the other here, so accesses are put together by place in the program and number of times that the lane has been there.
#pragma once
#include "emulator.hpp"

namespace emu {

void record_access(const dim3& block, u32 thread, const void* address, u32 bytes, bool write, const void* site);
// Adds up what the block's warps did.
void end_of_block(const dim3& block);

}   // namespace emu
