// In place of a header that the wheel has not: tensors are not saved or loaded here.
#pragma once
#include <cstddef>
namespace tvm { namespace support {
struct Stream {
  template <typename... T> bool Read(T&&...) { return false; }
  template <typename... T> bool ReadArray(T&&...) { return false; }
  template <typename... T> void Write(T&&...) {}
  template <typename... T> void WriteArray(T&&...) {}
};
template <typename T> struct Serializer;
}}
