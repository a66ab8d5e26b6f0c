// Loads a graph as TVM's OpenCL ML runtime does, with its own base class, and prints what it read: file, constants...
#include <fstream>
#include <iostream>
#include <sstream>

#include "json_runtime.h"

using namespace tvm;
using namespace tvm::runtime::json;

class Probe : public JSONRuntimeBase {
 public:
  using JSONRuntimeBase::JSONRuntimeBase;
  void Init(const ffi::Array<runtime::Tensor>&) override {}
  void Run() override {}
  void Show() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const auto& node = nodes_[i];
      std::cout << node.GetOpType() << " " << node.GetOpName();
      for (auto& entry : node.GetInputs()) std::cout << " " << entry.id_ << ":" << entry.index_;
      for (auto size : node.GetOpShape()[0]) std::cout << " " << size;
      std::cout << " " << ffi::DLDataTypeToString(node.GetOpDataType()[0]);
      for (const char* key : {"padding", "strides", "dilation", "pool_size"}) {
        if (!node.HasAttr(key)) continue;
        std::cout << " " << key;
        for (auto value : node.GetAttr<ffi::Array<int64_t>>(key)) std::cout << " " << value;
      }
      for (const char* key : {"groups", "axis"}) {
        if (node.HasAttr(key)) std::cout << " " << key << " " << node.GetAttr<int64_t>(key);
      }
      for (const char* key : {"epsilon", "a_min", "a_max"}) {
        if (node.HasAttr(key)) std::cout << " " << key << " " << node.GetAttr<double>(key);
      }
      if (node.HasAttr("activation_type")) {
        std::cout << " activation " << std::string(node.GetAttr<ffi::String>("activation_type"));
      }
      if (node.HasAttr("batchnorm")) {
        auto values = node.GetAttr<ffi::Array<ffi::String>>("batchnorm");
        std::cout << " batchnorm " << std::string(values[0]) << " " << std::string(values[1]);
      }
      std::cout << "\n";
    }
    for (auto& name : const_names_) std::cout << "constant " << std::string(name) << "\n";
    for (auto& head : outputs_) std::cout << "head " << head.id_ << ":" << head.index_ << "\n";
  }
};

int main(int argc, char** argv) {
  std::ifstream file(argv[1]);
  std::stringstream text;
  text << file.rdbuf();
  ffi::Array<ffi::String> constants;
  for (int i = 2; i < argc; ++i) constants.push_back(ffi::String(argv[i]));
  auto made = ffi::make_object<Probe>("clml_0", text.str(), constants);
  made->Show();
  return 0;
}
