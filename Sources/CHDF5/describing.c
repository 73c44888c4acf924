#include "child.h"
#include <string.h>

// What deflate can shrink is bounded: 258 bytes need at least two bits, 1032:1. A little is added for small datasets.
enum { INFLATION = 1100, ALLOWANCE = 1 << 20 };

static bool shape(chdf5_child *child, hid_t dataset, const char *name, chdf5_record *record, bool *scalar) {
  const chdf5_library *h5 = &child->h5;
  const hid_t space = h5->H5Dget_space(dataset);
  if (space < 0) return chdf5_explain(child), chdf5_fail(child, CHDF5_UNREADABLE, name, 0, 0);
  const H5S_class_t class = h5->H5Sget_simple_extent_type(space);
  const int rank = h5->H5Sget_simple_extent_ndims(space);
  *scalar = class == H5S_SCALAR;
  bool fine = (class == H5S_SCALAR && rank == 0) || (class == H5S_SIMPLE && rank >= 1 && rank <= CHDF5_RANK);
  hsize_t dimensions[CHDF5_RANK] = {0};
  if (fine && rank > 0) fine = h5->H5Sget_simple_extent_dims(space, dimensions, 0) == rank;
  h5->H5Sclose(space);
  if (!fine) return chdf5_fail(child, CHDF5_SHAPE, name, (uint64_t)(rank < 0 ? 0 : rank), 0);
  record->rank = (uint32_t)rank;
  for (int i = 0; i < rank; i++) record->dimensions[i] = dimensions[i];
  return true;
}

static bool filters(chdf5_child *child, hid_t creation, const char *name, chdf5_record *record) {
  const chdf5_library *h5 = &child->h5;
  const int count = h5->H5Pget_nfilters(creation);
  if (count < 0) return chdf5_explain(child), chdf5_fail(child, CHDF5_UNREADABLE, name, 0, 0);
  for (int i = 0; i < count; i++) {
    unsigned flags = 0, values[8], configuration = 0;
    size_t value_count = sizeof values / sizeof *values;
    char text[CHDF5_TEXT_BYTES] = {0};
    const H5Z_filter_t filter =
        h5->H5Pget_filter2(creation, (unsigned)i, &flags, &value_count, values, sizeof text - 1, text, &configuration);
    switch (filter) {
      case H5Z_FILTER_DEFLATE: record->flags |= CHDF5_GZIP; break;
      case H5Z_FILTER_SHUFFLE: record->flags |= CHDF5_SHUFFLE; break;
      case H5Z_FILTER_FLETCHER32: record->flags |= CHDF5_CHECKSUM; break;
      default:
        chdf5_copy(child->reply.text, sizeof child->reply.text, text);
        return chdf5_fail(child, CHDF5_FILTER, name, (uint64_t)(int64_t)filter, 0);
    }
  }
  // Each filter at most once: two deflates would shrink more than the limit knows.
  if (count > __builtin_popcount(record->flags & (CHDF5_GZIP | CHDF5_SHUFFLE | CHDF5_CHECKSUM))) {
    chdf5_copy(child->reply.text, sizeof child->reply.text, "applied twice");
    return chdf5_fail(child, CHDF5_FILTER, name, 0, 0);
  }
  return true;
}

static bool multiply(uint64_t *product, uint64_t factor) { return !__builtin_mul_overflow(*product, factor, product); }

// Every chunk of the dataset has to be in the file; libhdf5 would make up the missing ones.
static bool chunks(chdf5_child *child, hid_t dataset, hid_t creation, const char *name, chdf5_record *record, uint64_t bytes) {
  const chdf5_library *h5 = &child->h5;
  hsize_t sizes[CHDF5_RANK + 1];
  if (h5->H5Pget_chunk(creation, CHDF5_RANK + 1, sizes) != (int)record->rank || record->rank == 0) {
    return chdf5_fail(child, CHDF5_SHAPE, name, record->rank, 0);
  }
  uint64_t chunk = chdf5_element_bytes(record->type), expected = 1, padded;
  for (uint32_t i = 0; i < record->rank; i++) {
    if (sizes[i] == 0 || !multiply(&chunk, sizes[i]) || chunk > child->limits.chunk) {
      return chdf5_fail(child, CHDF5_CHUNK, name, child->limits.chunk, chunk);
    }
    if (!multiply(&expected, (record->dimensions[i] - 1) / sizes[i] + 1)) return chdf5_fail(child, CHDF5_SHAPE, name, record->rank, 0);
  }
  // An index entry takes at least eight bytes, so a file has room for so many chunks only.
  hsize_t found = 0;
  if (expected > child->file_bytes / 8 + 1) return chdf5_fail(child, CHDF5_UNALLOCATED, name, expected, child->file_bytes / 8 + 1);
  const hid_t space = h5->H5Dget_space(dataset);
  const bool counted = space >= 0 && h5->H5Dget_num_chunks(dataset, space, &found) >= 0;
  if (!counted) return chdf5_explain(child), chdf5_fail(child, CHDF5_UNREADABLE, name, 0, 0);
  h5->H5Sclose(space);
  if (found != expected) return chdf5_fail(child, CHDF5_UNALLOCATED, name, expected, found);
  if (__builtin_mul_overflow(chunk, expected, &padded)) return chdf5_fail(child, CHDF5_INFLATED, name, record->stored, bytes);
  if (record->stored > child->file_bytes) return chdf5_fail(child, CHDF5_OUTSIDE, name, record->stored, child->file_bytes);
  const bool filtered = record->flags & (CHDF5_GZIP | CHDF5_SHUFFLE | CHDF5_CHECKSUM);
  if (!filtered && record->stored != padded) return chdf5_fail(child, CHDF5_UNALLOCATED, name, padded, record->stored);
  if (padded > record->stored * INFLATION + ALLOWANCE) return chdf5_fail(child, CHDF5_INFLATED, name, record->stored, padded);
  return true;
}

static bool storage(chdf5_child *child, hid_t dataset, hid_t creation, const char *name, chdf5_record *record) {
  const chdf5_library *h5 = &child->h5;
  const int external = h5->H5Pget_external_count(creation);
  if (external > 0) {
    int64_t offset;
    hsize_t size;
    char *text = child->reply.text;
    if (h5->H5Pget_external(creation, 0, CHDF5_TEXT_BYTES - 1, text, &offset, &size) < 0) text[0] = 0;
    return chdf5_fail(child, CHDF5_EXTERNAL_STORAGE, name, 0, 0);
  }
  const H5D_layout_t layout = h5->H5Pget_layout(creation);
  if (layout == H5D_VIRTUAL) return chdf5_fail(child, CHDF5_VIRTUAL, name, 0, 0);
  if (external < 0 || layout < H5D_COMPACT || layout > H5D_CHUNKED) {
    return chdf5_explain(child), chdf5_fail(child, CHDF5_UNREADABLE, name, 0, 0);
  }
  record->flags |= layout == H5D_COMPACT ? CHDF5_COMPACT : layout == H5D_CHUNKED ? CHDF5_CHUNKED : 0;
  if (!filters(child, creation, name, record)) return false;
  uint64_t bytes = chdf5_element_bytes(record->type);
  bool empty = false;
  for (uint32_t i = 0; i < record->rank; i++) empty |= record->dimensions[i] == 0;
  if (empty) return true;
  for (uint32_t i = 0; i < record->rank; i++) {
    if (!multiply(&bytes, record->dimensions[i])) return chdf5_fail(child, CHDF5_SHAPE, name, record->rank, 0);
  }
  H5D_space_status_t status;
  record->stored = h5->H5Dget_storage_size(dataset);
  if (h5->H5Dget_space_status(dataset, &status) < 0) return chdf5_explain(child), chdf5_fail(child, CHDF5_UNREADABLE, name, 0, 0);
  if (layout == H5D_CHUNKED) {
    if (record->stored == 0) return chdf5_fail(child, CHDF5_UNALLOCATED, name, bytes, 0);
    return chunks(child, dataset, creation, name, record, bytes);
  }
  if (status != H5D_SPACE_STATUS_ALLOCATED) return chdf5_fail(child, CHDF5_UNALLOCATED, name, bytes, 0);
  if (record->stored != bytes) return chdf5_fail(child, CHDF5_UNALLOCATED, name, bytes, record->stored);
  if (layout == H5D_COMPACT) return true;
  // Beyond the end of the file libhdf5 reads zeros.
  const haddr_t offset = h5->H5Dget_offset(dataset);
  if (offset == HADDR_UNDEF) return chdf5_fail(child, CHDF5_UNALLOCATED, name, bytes, 0);
  if (offset > child->file_bytes || bytes > child->file_bytes - offset) {
    return chdf5_fail(child, CHDF5_OUTSIDE, name, offset + bytes < bytes ? UINT64_MAX : offset + bytes, child->file_bytes);
  }
  record->offset = offset;
  return true;
}

bool chdf5_describe(chdf5_child *child, hid_t dataset, const char *name, chdf5_record *record, bool *skipped) {
  const chdf5_library *h5 = &child->h5;
  bool scalar;
  memset(record, 0, sizeof *record);
  record->offset = UINT64_MAX;
  *skipped = false;
  const hid_t creation = h5->H5Dget_create_plist(dataset), type = h5->H5Dget_type(dataset);
  if (creation < 0 || type < 0) return chdf5_explain(child), chdf5_fail(child, CHDF5_UNREADABLE, name, 0, 0);
  bool fine = shape(child, dataset, name, record, &scalar);
  if (fine) {
    record->type = chdf5_element_type(child, dataset, type);
    // A note beside the tensors, as some writers leave it.
    *skipped = record->type == CHDF5_TYPES && scalar && h5->H5Tget_class(type) == H5T_STRING;
    if (record->type == CHDF5_TYPES && !*skipped) fine = chdf5_fail(child, CHDF5_TYPE, name, 0, 0);
    if (record->type < CHDF5_TYPES && chdf5_element_bytes(record->type) > 1 && h5->H5Tget_class(type) != H5T_OPAQUE &&
        h5->H5Tget_order(type) == H5T_ORDER_BE) {
      record->flags |= CHDF5_BIG_ENDIAN;
    }
  }
  if (fine && !*skipped) fine = storage(child, dataset, creation, name, record);
  h5->H5Tclose(type);
  h5->H5Pclose(creation);
  return fine;
}

uint64_t chdf5_stripe(const chdf5_library *h5, hid_t dataset, const chdf5_record *record) {
  if (!(record->flags & CHDF5_CHUNKED)) return 0;
  const hid_t creation = h5->H5Dget_create_plist(dataset);
  hsize_t sizes[CHDF5_RANK + 1];
  const int rank = creation < 0 ? -1 : h5->H5Pget_chunk(creation, CHDF5_RANK + 1, sizes);
  if (creation >= 0) h5->H5Pclose(creation);
  if (rank != (int)record->rank || rank < 1) return 0;
  uint64_t bytes = chdf5_element_bytes(record->type);
  for (int i = 0; i < rank; i++) {
    const uint64_t across = i == 0 ? 1 : record->dimensions[i] / sizes[i] + 1;
    if (!multiply(&bytes, sizes[i]) || !multiply(&bytes, across)) return UINT64_MAX;
  }
  return bytes;
}
