#include "child.h"
#include <string.h>

static const char *const classes[] = {"a whole number", "a floating-point number", "a time", "a string", "a bit field", "opaque bytes",
                                      "a compound", "a reference", "an enumeration", "a sequence of variable length", "an array"};

static const struct {
  uint32_t type, bytes, sign, exponent, exponent_bits, fraction_bits, bias;
} floats[] = {{CHDF5_F16, 2, 15, 10, 5, 10, 15},
              {CHDF5_BF16, 2, 15, 7, 8, 7, 127},
              {CHDF5_F32, 4, 31, 23, 8, 23, 127},
              {CHDF5_F64, 8, 63, 52, 11, 52, 1023}};

uint64_t chdf5_element_bytes(uint32_t type) {
  static const unsigned char bytes[CHDF5_TYPES] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
  return type < CHDF5_TYPES ? bytes[type] : 0;
}

static uint32_t unknown(chdf5_child *child, const char *text) {
  chdf5_copy(child->reply.text, sizeof child->reply.text, text);
  return CHDF5_TYPES;
}

static uint32_t whole(chdf5_child *child, hid_t type, size_t bytes) {
  const chdf5_library *h5 = &child->h5;
  const H5T_sign_t sign = h5->H5Tget_sign(type);
  if (sign != H5T_SGN_NONE && sign != H5T_SGN_2) return unknown(child, "a whole number with an unknown sign");
  const uint32_t is_signed = sign == H5T_SGN_2;
  switch (bytes) {
    case 1: return CHDF5_U8 + is_signed;
    case 2: return CHDF5_U16 + is_signed;
    case 4: return CHDF5_U32 + is_signed;
    case 8: return CHDF5_U64 + is_signed;
    default: return unknown(child, "a whole number of an odd size");
  }
}

// Whether the attribute is a single string with this text.
static bool says(const chdf5_library *h5, hid_t attribute, const char *expected) {
  char text[16] = {0}, *address = 0;
  const hid_t space = h5->H5Aget_space(attribute), type = h5->H5Aget_type(attribute);
  bool same = false;
  if (space >= 0 && type >= 0 && h5->H5Sget_simple_extent_type(space) == H5S_SCALAR && h5->H5Tget_class(type) == H5T_STRING) {
    // The text of variable length is libhdf5's, and is not given back: it is short, and the child too.
    if (h5->H5Tis_variable_str(type) > 0) {
      same = h5->H5Aread(attribute, type, &address) >= 0 && address && strcmp(address, expected) == 0;
    } else if (h5->H5Tget_size(type) < sizeof text) {
      same = h5->H5Aread(attribute, type, text) >= 0 && strcmp(text, expected) == 0;
    }
  }
  if (space >= 0) h5->H5Sclose(space);
  if (type >= 0) h5->H5Tclose(type);
  return same;
}

// NumPy has no bfloat16, so Keras stores it as two opaque bytes, with its name in an attribute.
static bool is_opaque_bfloat16(const chdf5_library *h5, hid_t dataset, hid_t type) {
  if (h5->H5Tget_class(type) != H5T_OPAQUE || h5->H5Tget_size(type) != 2 || h5->H5Aexists(dataset, "dtype") <= 0) return false;
  const hid_t attribute = h5->H5Aopen(dataset, "dtype", H5P_DEFAULT);
  if (attribute < 0) return false;
  const bool is = says(h5, attribute, "bfloat16");
  h5->H5Aclose(attribute);
  return is;
}

uint32_t chdf5_element_type(chdf5_child *child, hid_t dataset, hid_t type) {
  const chdf5_library *h5 = &child->h5;
  const H5T_class_t class = h5->H5Tget_class(type);
  if (is_opaque_bfloat16(h5, dataset, type)) return CHDF5_BF16;
  if (class != H5T_INTEGER && class != H5T_FLOAT) {
    return unknown(child, class >= 0 && class < (int)(sizeof classes / sizeof *classes) ? classes[class] : "of an unknown class");
  }
  const size_t bytes = h5->H5Tget_size(type);
  const H5T_order_t order = h5->H5Tget_order(type);
  if ((order != H5T_ORDER_LE && order != H5T_ORDER_BE) || bytes == 0 || bytes > 8) return unknown(child, "a number in an unknown order");
  if (h5->H5Tget_precision(type) != bytes * 8 || h5->H5Tget_offset(type) != 0) return unknown(child, "a number with unused bits");
  if (class == H5T_INTEGER) return whole(child, type, bytes);
  size_t sign, exponent, exponent_bits, fraction, fraction_bits;
  if (h5->H5Tget_fields(type, &sign, &exponent, &exponent_bits, &fraction, &fraction_bits) < 0 || fraction != 0 ||
      h5->H5Tget_norm(type) != H5T_NORM_IMPLIED) {
    return unknown(child, "a floating-point number of an unknown layout");
  }
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
    if (bytes == floats[i].bytes && sign == floats[i].sign && exponent == floats[i].exponent &&
        exponent_bits == floats[i].exponent_bits && fraction_bits == floats[i].fraction_bits &&
        h5->H5Tget_ebias(type) == floats[i].bias) {
      return floats[i].type;
    }
  }
  return unknown(child, "a floating-point number of an unknown layout");
}
