// The dlsym behind ours. It is safe at any time, even before libc has run a constructor.
#pragma once

namespace aoti_dbg {

/// Calls the next dlsym after ours: libc's, or that of another interposing library.
void* real_dlsym(void* handle, const char* name);

}  // namespace aoti_dbg
