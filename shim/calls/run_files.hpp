// Files of a run that are kept and removed together with its saved tensors, such as captured launches. The
// feature that writes them and the one that decides which runs stay are connected in library/kept_captures.
#pragma once

#include <cstdint>
#include <string>

namespace aoti_dbg {

/// Removes the files of a run.
class RunFiles {
  public:
    /// Removes the run's files. Any thread may call it, once all announced files of the run are finished.
    virtual void remove_run(std::uint32_t run) = 0;

  protected:
    RunFiles() = default;
    ~RunFiles() = default;
    RunFiles(const RunFiles&) = default;
    RunFiles& operator=(const RunFiles&) = default;
};

/// Decides which runs stay.
class RunKeeper {
  public:
    /// Announces a file of the run. Returns false if the run is being removed, or if nothing of it can be
    /// saved. The caller then leaves the file out.
    virtual bool begin_run_file(std::uint32_t run) = 0;
    /// Ends a file that begin_run_file() announced.
    virtual void end_run_file(std::uint32_t run) = 0;

  protected:
    RunKeeper() = default;
    ~RunKeeper() = default;
    RunKeeper(const RunKeeper&) = default;
    RunKeeper& operator=(const RunKeeper&) = default;
};

/// Knows which launches are captured.
class CapturedLaunches {
  public:
    /// Returns the path of the launch's file, or an empty text.
    virtual std::string file_of(std::uint32_t run, std::uint32_t call) = 0;

  protected:
    CapturedLaunches() = default;
    ~CapturedLaunches() = default;
    CapturedLaunches(const CapturedLaunches&) = default;
    CapturedLaunches& operator=(const CapturedLaunches&) = default;
};

}  // namespace aoti_dbg
