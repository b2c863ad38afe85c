// What the writer and the reader of routes agree on. Owns the constants; routes.h describes the
// format.
#pragma once

#include <string>
#include <string_view>

#include "experts/routes.h"

namespace rota {

inline constexpr std::string_view kRoutesMagic = "ROTAROUT";
inline constexpr uint32_t kRoutesVersion = 1;
inline constexpr size_t kRoutesHeaderBytes = 24;

// Empty, or which number no routes file can have. Bounds what a reader allocates for a header.
std::string routes_shape_problem(const RouteShape& shape);

}  // namespace rota
