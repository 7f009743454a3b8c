// Where the programs and files are that tests use. Only places.cpp is compiled with these paths, so a
// compiler cache serves the tests of every folder.
#pragma once

namespace aoti_dbg::places {

extern const char* const kTool;  // the command
extern const char* const kFakes;
extern const char* const kVictims;

// Files of the source tree.
extern const char* const kTestData;
extern const char* const kReferencePages;
extern const char* const kCompatibilityPage;
extern const char* const kFakeWrapper;

// Built for one test or a few.
extern const char* const kSpeaker;
extern const char* const kStandIn;
extern const char* const kNoNaps;
extern const char* const kNoThreads;
extern const char* const kOtherProfiler;
extern const char* const kSlowDisk;
extern const char* const kCallCounter;

}  // namespace aoti_dbg::places
