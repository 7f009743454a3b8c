#include "find_ring.hpp"
