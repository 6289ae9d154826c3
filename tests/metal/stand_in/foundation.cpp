// SPDX-License-Identifier: MIT
#include "metal/stand_in/foundation.hpp"

#include "metal/stand_in/exported.hpp"
#include "metal/stand_in/settings.hpp"

namespace norite::stand_in {

namespace {

/// Near enough: what is above ASCII begins with a lead byte, and as many bytes follow as it says.
bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const int more = lead < 0x80       ? 0
                     : lead >> 5 == 6  ? 1
                     : lead >> 4 == 14 ? 2
                     : lead >> 3 == 30 ? 3
                                       : -1;
    if (more < 0) return false;
    for (int k = 0; k < more; ++k) {
      if (++i >= text.size() || static_cast<unsigned char>(text[i]) >> 6 != 2) return false;
    }
  }
  return true;
}

Id init_with_bytes(String* self, Sel, const void* bytes, NSUInteger length, NSUInteger encoding) {
  self->text.assign(static_cast<const char*>(bytes), length);
  if (encoding != metal::NSUTF8StringEncoding || is_utf8(self->text)) return id_of(self);
  self->release();
  return nullptr;
}
const char* utf8_string(String* self, Sel) { return self->text.c_str(); }

NSUInteger count(Array* self, Sel) { return self->elements.size(); }
Id object_at_index(Array* self, Sel, NSUInteger index) {
  if (index < self->elements.size()) return id_of(self->elements[index].get());
  breach("objectAtIndex: beyond the end");
  return nullptr;
}

NSInteger error_code(Error* self, Sel) { return self->code; }
Id localized_description(Error* self, Sel) { return autoreleased(new String(self->description)); }

/// The only dictionary there is: details of an error.
struct Details : Instance {
  explicit Details(Hold<Array> values);
  Hold<Array> encoders;
  void die() override { encoders = {}; }
};

Id user_info(Error* self, Sel) { return autoreleased(new Details(self->encoders)); }
Id object_for_key(Details* self, Sel, Id key) {
  const bool known = text_of(key) == "MTLCommandBufferEncoderInfoErrorKey";
  return known ? id_of(self->encoders.get()) : nullptr;
}

struct ProcessInfo : Instance {
  ProcessInfo();
};

bool is_at_least_version(ProcessInfo*, Sel, metal::NSOperatingSystemVersion version) {
  return stand_in_metal()->system_major >= version.major;
}
Id version_string(ProcessInfo*, Sel) {
  return autoreleased(
      new String("Version " + std::to_string(stand_in_metal()->system_major) + ".0 (stand-in)"));
}

Id process_info(Instance*, Sel) { return autoreleased(new ProcessInfo); }

void set_label(Instance* self, Sel, Id label) { self->label = text_of(label); }
Id label(Instance* self, Sel) { return autoreleased(new String(self->label)); }

Instance* make_string() { return new String; }

const ClassInfo kString = ClassInfo("NSString", &kObject, make_string)
                              .with("initWithBytes:length:encoding:", init_with_bytes)
                              .with("UTF8String", utf8_string);
const ClassInfo kArray =
    ClassInfo("NSArray", &kObject).with("count", count).with("objectAtIndex:", object_at_index);
const ClassInfo kError = ClassInfo("NSError", &kObject)
                             .with("code", error_code)
                             .with("localizedDescription", localized_description)
                             .with("userInfo", user_info);
const ClassInfo kDetails =
    ClassInfo("NSDictionary", &kObject).with("objectForKey:", object_for_key);
const ClassInfo kProcessInfo = ClassInfo("NSProcessInfo", &kObject)
                                   .with("isOperatingSystemAtLeastVersion:", is_at_least_version)
                                   .with("operatingSystemVersionString", version_string);
const ClassInfo kProcessInfoClass =
    ClassInfo("NSProcessInfo's class", &kClass).with("processInfo", process_info);
const PublicClass public_string(kString), public_process_info(kProcessInfo, 10, kProcessInfoClass);

Details::Details(Hold<Array> values) : Instance(kDetails), encoders(std::move(values)) {}
ProcessInfo::ProcessInfo() : Instance(kProcessInfo) {}

}  // namespace

const ClassInfo kLabelled =
    ClassInfo("labelled", &kObject).with("setLabel:", set_label).with("label", label);

String::String() : Instance(kString) {}
String::String(std::string value) : Instance(kString), text(std::move(value)) {}
Array::Array(std::vector<Hold<Instance>> values) : Instance(kArray), elements(std::move(values)) {}
Error::Error(NSInteger error_code, std::string text)
    : Instance(kError), code(error_code), description(std::move(text)) {}

std::string text_of(Id string) { return string == nullptr ? "" : from_id<String>(string)->text; }

void set_error(Id* target, Error* error) {
  const Id id = autoreleased(error);
  if (target != nullptr) *target = id;
}

}  // namespace norite::stand_in
