#include "tests/support/places.hpp"

namespace aoti_dbg::places {

const char* const kTool = AOTI_DBG_BINARIES "/aoti-dbg";
const char* const kFakes = AOTI_DBG_BINARIES "/fakes";
const char* const kVictims = AOTI_DBG_BINARIES "/victims";

const char* const kTestData = AOTI_DBG_SOURCES "/tests/unit/data";
const char* const kReferencePages = AOTI_DBG_SOURCES "/docs/reference";
const char* const kCompatibilityPage = AOTI_DBG_SOURCES "/docs/reference/compatibility.md";
const char* const kFakeWrapper = AOTI_DBG_SOURCES "/tests/fakes/model/package_stats.wrapper.cpp.in";

const char* const kSpeaker = AOTI_DBG_BUILT_TESTS "/message_speaker";
const char* const kStandIn = AOTI_DBG_BUILT_TESTS "/libstand_in.so";
const char* const kNoNaps = AOTI_DBG_BUILT_TESTS "/libno_naps.so";
const char* const kNoThreads = AOTI_DBG_BUILT_TESTS "/libno_threads.so";
const char* const kOtherProfiler = AOTI_DBG_BUILT_TESTS "/libother_profiler.so";
const char* const kSlowDisk = AOTI_DBG_BUILT_TESTS "/libslow_disk.so";
const char* const kCallCounter = AOTI_DBG_BUILT_TESTS "/libcall_counter.so";

}  // namespace aoti_dbg::places
