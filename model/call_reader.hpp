// Reads the calls of a run's body: the bookkeeping of tensors, and the call sites with their arguments.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/body_memory.hpp"
#include "model/call_flow.hpp"
#include "model/callee.hpp"
#include "model/expression.hpp"
#include "model/run_body.hpp"

namespace aoti_dbg {

class CallReader {
  public:
    CallReader(const Callees& callees, const WrapperInfo& wrapper, Keeper& keeper, RunBody& body,
               Variables& variables, CallFlow& flow, BodyMemory& memory)
        : callees_(callees),
          wrapper_(wrapper),
          keeper_(keeper),
          body_(body),
          variables_(variables),
          flow_(flow),
          memory_(memory) {}

    /// Keeps the origin of the next call site if the comment has it.
    void read_comment(std::string_view comment);
    void read(const Statement& statement, TokenRange range);

  private:
    using Parts = std::vector<TokenRange>;

    std::string spelled(const Statement& statement, TokenRange part);
    /// Returns float32 for cached_torch_dtype_float32.
    std::string spelled(const Statement& statement, TokenRange part, std::string_view prefix);
    void see_guard(const Statement& statement, TokenRange range);
    bool see_bookkeeping(const Statement& statement, const Callee& callee, const Parts& parts);
    void see_site(const Statement& statement, const Callee& callee, const Parts& parts);
    [[nodiscard]] std::optional<SiteKind> kind_of(const Callee& callee) const;
    void describe(const Statement& statement, const Parts& parts, CallSite& site);
    void describe_triton(CallSite& site);
    void describe_proxy(const Statement& statement, const Parts& parts, CallSite& site);
    void see_view_dtype(const Statement& statement, const Parts& parts, CallSite& site);
    void see_clone(const Statement& statement, const Parts& parts, const CallSite& site);

    const Callees& callees_;
    const WrapperInfo& wrapper_;
    Keeper& keeper_;
    RunBody& body_;
    Variables& variables_;
    CallFlow& flow_;
    BodyMemory& memory_;
    std::string_view origin_;  // comments with the origin of the next site
    std::string_view provenance_;
    std::string_view guarded_;  // the function that the last kernel context guard names
    std::string_view stack_;    // the Python stack in that guard
};

}  // namespace aoti_dbg
