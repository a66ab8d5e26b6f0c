// In place of a header that the wheel has not: modules are not saved or loaded here.
#pragma once
#include <string>

namespace tvm { namespace support {
struct BytesOutStream { explicit BytesOutStream(std::string*) {} template <typename T> void Write(const T&) {} };
struct BytesInStream { template <typename T> explicit BytesInStream(const T&) {} template <typename T> bool Read(T*) { return false; } };
}}
