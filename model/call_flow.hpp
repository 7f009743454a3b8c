// Keeps account of the branches and loops of a body while it is read, and writes down those with calls in
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/statement.hpp"
#include "model/wrapper_info.hpp"

namespace aoti_dbg {

class CallFlow {
  public:
    explicit CallFlow(RunBody& body) : body_(body) {}

    /// `statement` comes next: to be told before its calls are ...
    void enter(const Statement& statement);
    /// ... and after them. False once the body is closed.
    bool leave(const Statement& statement);
    void call(std::uint32_t site) { add(FlowStep::Kind::call, site); }
    /// The branch or loop that calls now lie in.
    [[nodiscard]] std::uint32_t region() const;

  private:
    struct Block {
        enum class Kind : std::uint8_t { plain, branch, loop };
        Kind kind = Kind::plain;
        std::size_t step = 0;          // where the branch or loop begins in the flow
        std::uint32_t region = kNone;  // of what lies in it
    };
    void add(FlowStep::Kind kind, std::uint32_t value = 0);
    void open(const Statement& statement);
    void finish_branch();
    std::uint32_t add_region(Region::Kind kind, std::uint32_t line);
    void end(const Block& block, FlowStep::Kind kind);

    RunBody& body_;
    std::vector<Block> blocks_;
    std::size_t deeper_ = 0;
    Block branch_;            // closed, but an else may follow
    bool may_go_on_ = false;  // with that else
};

}  // namespace aoti_dbg
