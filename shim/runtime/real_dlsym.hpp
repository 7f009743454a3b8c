// The dlsym behind ours. Safe at any moment, also before libc has called a single constructor.
#pragma once

namespace aoti_dbg {

/// The next dlsym after ours: libc's, or that of another library that stands between.
void* real_dlsym(void* handle, const char* name);

}  // namespace aoti_dbg
