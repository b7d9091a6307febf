// All kernels that bench.cpp times.
#pragma once
#include "instances/irregular.cuh"
#include "instances/rows.cuh"
#include "instances/scan.cuh"
#include "instances/sort.cuh"
#include "instances/textbook.cuh"
