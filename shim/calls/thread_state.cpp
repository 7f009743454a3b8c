#include "shim/calls/thread_state.hpp"

#include <pthread.h>

#include <cerrno>

#include "shim/calls/current_session.hpp"
#include "shim/calls/session.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {

__thread ThreadState* t_thread_state __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

pthread_key_t g_key;
pthread_once_t g_key_once = PTHREAD_ONCE_INIT;
bool g_have_key = false;

void thread_ends(void* value) {
    auto* state = static_cast<ThreadState*>(value);
    t_thread_state = nullptr;
    // After a fork, the state belongs to the parent's session, so leave it alone.
    if (Session* session = wiped_page().session.load(std::memory_order_acquire); session == state->session) {
        session->detach_thread(state);
    }
}

}  // namespace

void ask_for_stack(ThreadState& state) {
    const int kept_errno = errno;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void* low = nullptr;
        std::size_t bytes = 0;
        if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
            state.stack_low = reinterpret_cast<std::uintptr_t>(low);
            state.stack_high = state.stack_low + bytes;
        }
        pthread_attr_destroy(&attributes);
    }
    errno = kept_errno;
}

ThreadState* attach_thread_state() {
    const int kept_errno = errno;
    Session* session = current_session();
    ThreadState* state = session == nullptr ? nullptr : session->attach_thread();
    if (state != nullptr) {
        pthread_once(&g_key_once, [] { g_have_key = pthread_key_create(&g_key, thread_ends) == 0; });
        if (g_have_key) pthread_setspecific(g_key, state);
        // Signal handlers and other threads need the stack bounds to detect unwound calls, and they cannot
        // determine them.
        if (options().records_all()) ask_for_stack(*state);
        t_thread_state = state;
        watch_all_roles();
    }
    errno = kept_errno;
    return state;
}

}  // namespace aoti_dbg
