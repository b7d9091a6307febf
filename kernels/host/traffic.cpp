#include "traffic.h"
#include <set>
#include <map>
#include <tuple>
#include <unordered_map>

namespace emu {
namespace {

struct Request {
    std::set<u64> sectors;
    u64 bytes = 0;
    bool write = false;
};

using Place = std::pair<const void*, u32>;                // site, thread
using Instruction = std::tuple<const void*, u32, u64>;    // site, warp, how many times the lane was there before

struct BlockAccesses {
    std::map<Place, u64> visits;
    std::map<Instruction, Request> requests;
};

std::map<std::tuple<u32, u32, u32>, BlockAccesses> running;
Traffic total;

}   // namespace

void record_access(const dim3& block, u32 thread, const void* address, u32 bytes, bool write, const void* site) {
    BlockAccesses& b = running[{block.x, block.y, block.z}];
    u64 visit = b.visits[{site, thread}]++;
    Request& r = b.requests[{site, thread / 32, visit}];
    u64 first = reinterpret_cast<u64>(address);
    for (u64 s = first / 32; s <= (first + bytes - 1) / 32; s++) r.sectors.insert(s);
    r.bytes += bytes;
    r.write = write;
}

void end_of_block(const dim3& block) {
    if (running.empty()) return;
    auto found = running.find({block.x, block.y, block.z});
    if (found == running.end()) return;
    for (auto& entry : found->second.requests) {
        const Request& r = entry.second;
        (r.write ? total.store_requests : total.load_requests)++;
        (r.write ? total.store_sectors : total.load_sectors) += r.sectors.size();
        (r.write ? total.store_bytes : total.load_bytes) += r.bytes;
    }
    running.erase(found);
}

void reset_traffic() { total = Traffic{}; }
Traffic traffic() { return total; }

}   // namespace emu
