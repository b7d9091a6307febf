// What tests use of the standard library: the first header of each, precompiled once for all that have the same flags.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <initializer_list>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>
