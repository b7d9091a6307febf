// Fibers: what the scheduler switches between. On x86-64 a switch saves six registers; elsewhere, or with EMU_UCONTEXT, it is ucontext's. The sanitizers
// are told (EMU_ASAN, EMU_TSAN: the kernels are compiled with that sanitizer; this file never is).
#pragma once
#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>
#if !defined(__x86_64__) && !defined(EMU_UCONTEXT)
#define EMU_UCONTEXT
#endif
#ifdef EMU_UCONTEXT
#include <ucontext.h>
#endif

#ifdef EMU_ASAN
extern "C" {
void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, size_t size);
void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, size_t* size);
}
#include <pthread.h>
#endif

#ifdef EMU_TSAN
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void __tsan_ignore_thread_begin();
void __tsan_ignore_thread_end();
}
#else
inline void __tsan_acquire(void*) {}
inline void __tsan_release(void*) {}
#endif

namespace emu {

// While one lives, the thread sanitizer does not look at what the fiber does: the emulator's own data, which the C library's
// functions access too, belongs to all fibers.
struct Unobserved {
#ifdef EMU_TSAN
    Unobserved() { __tsan_ignore_thread_begin(); }
    ~Unobserved() { __tsan_ignore_thread_end(); }
#else
    ~Unobserved() {}
#endif
};

struct Context {
    void* stack_pointer = nullptr;
    char* stack = nullptr;
    size_t stack_bytes = 0;
#ifdef EMU_ASAN
    void* fake_stack = nullptr;
#endif
#ifdef EMU_TSAN
    void* tsan = nullptr;
#endif
#ifdef EMU_UCONTEXT
    ucontext_t saved;
#endif
};

#ifndef EMU_UCONTEXT
extern "C" void emu_switch(void** from, void* to);
asm(R"(
.text
.type emu_switch,@function
emu_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp,(%rdi)
    movq %rsi,%rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size emu_switch,.-emu_switch
)");
#endif

inline void switch_context(Context& from, Context& to) {
#ifdef EMU_ASAN
    __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_bytes);
#endif
#ifdef EMU_TSAN
    __tsan_switch_to_fiber(to.tsan, 1);   // 1: the switch itself orders nothing
#endif
#ifndef EMU_UCONTEXT
    emu_switch(&from.stack_pointer, to.stack_pointer);
#else
    swapcontext(&from.saved, &to.saved);
#endif
#ifdef EMU_ASAN
    __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

// The context of the thread that launches.
inline void adopt_caller(Context& caller) {
#ifdef EMU_TSAN
    caller.tsan = __tsan_get_current_fiber();
#endif
#ifdef EMU_ASAN
    pthread_attr_t attributes;
    void* bottom;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &bottom, &caller.stack_bytes);
    pthread_attr_destroy(&attributes);
    caller.stack = static_cast<char*>(bottom);
#endif
    (void)caller;
}

// Makes a context that starts in `entry`, which must never return. False if there is no memory.
inline bool make_context(Context& context, size_t stack_bytes, void (*entry)()) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (stack == MAP_FAILED) return false;
    context.stack = static_cast<char*>(stack);
    context.stack_bytes = stack_bytes;
#ifdef EMU_TSAN
    context.tsan = __tsan_create_fiber(0);
#endif
#ifndef EMU_UCONTEXT
    // What emu_switch pops: six registers and a return address, after which the stack is aligned as at a call.
    void** top = reinterpret_cast<void**>(context.stack + stack_bytes - 64);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(entry);
    for (int i = 0; i < 6; i++) *--top = nullptr;
    context.stack_pointer = top;
#else
    getcontext(&context.saved);
    context.saved.uc_stack.ss_sp = context.stack;
    context.saved.uc_stack.ss_size = stack_bytes;
    context.saved.uc_link = nullptr;
    makecontext(&context.saved, entry, 0);
#endif
    return true;
}

inline void free_context(Context& context) {
#ifdef EMU_TSAN
    __tsan_destroy_fiber(context.tsan);
#endif
    munmap(context.stack, context.stack_bytes);
}

}   // namespace emu
