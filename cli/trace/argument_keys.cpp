#include "cli/trace/argument_keys.hpp"

#include "cli/trace/argument_text.hpp"

namespace aoti_dbg::cli {

TextId ArgumentKeys::key_of(const ArgumentFacts& facts) {
    Key* key = keys_.find(facts.number);
    if (key == nullptr) {
        keys_.make_room();
        key = &keys_.add(facts.number);
    }
    if (key->generation != packets_.generation())
        *key = {packets_.generation(), packets_.key_id(ArgumentText::key_of(facts))};
    if (uses_.size() <= key->id) uses_.resize(key->id + 1);
    Use& use = uses_[key->id];
    if (use.group != group_) use = {group_, 0};
    if (++use.count == 1) return key->id;
    return packets_.key_id(ArgumentText::key_of(facts) + " #" + std::to_string(use.count));
}

}  // namespace aoti_dbg::cli
