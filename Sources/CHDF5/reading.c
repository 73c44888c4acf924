#include "child.h"
#include <string.h>

// Room for the chunks of one step along the first dimension, so that each is unpacked once when rows are read in order.
enum { LEAST_CACHE = 1 << 20, LARGEST_CACHE = 96 << 20, CACHE_SLOTS = 4099 };

// Explains first: every call of libhdf5 forgets the messages of the one before.
static bool leave(chdf5_child *child) {
  chdf5_explain(child);
  if (child->open_dataset >= 0) child->h5.H5Dclose(child->open_dataset);
  if (child->open_space >= 0) child->h5.H5Sclose(child->open_space);
  if (child->open_type >= 0) child->h5.H5Tclose(child->open_type);
  child->open_dataset = child->open_space = child->open_type = -1;
  return false;
}

static bool enter(chdf5_child *child, uint64_t index, const char *name, const chdf5_record *record) {
  const chdf5_library *h5 = &child->h5;
  if (child->open_dataset >= 0 && child->open_index == index) return true;
  leave(child);
  child->reply.text[0] = 0;
  const hid_t access = chdf5_access(h5, h5->dataset_access);
  if (access < 0) return false;
  hid_t dataset = h5->H5Dopen2(child->file, name, access);
  const uint64_t stripe = dataset < 0 ? 0 : chdf5_stripe(h5, dataset, record);
  if (stripe > LEAST_CACHE) {
    h5->H5Dclose(dataset);
    h5->H5Pset_chunk_cache(access, CACHE_SLOTS, stripe < LARGEST_CACHE ? stripe : LARGEST_CACHE, 1.0);
    dataset = h5->H5Dopen2(child->file, name, access);
  }
  if (dataset < 0) chdf5_explain(child);
  h5->H5Pclose(access);
  if (dataset < 0) return false;
  child->open_index = index;
  child->open_dataset = dataset;
  child->open_space = h5->H5Dget_space(dataset);
  const hid_t stored = h5->H5Dget_type(dataset);
  child->open_type = stored < 0 ? -1 : h5->H5Tcopy(stored);
  if (stored >= 0) h5->H5Tclose(stored);
  // The type in memory is the stored one, little-endian.
  if (child->open_space < 0 || child->open_type < 0) return leave(child);
  if (record->flags & CHDF5_BIG_ENDIAN && h5->H5Tset_order(child->open_type, H5T_ORDER_LE) < 0) return leave(child);
  return h5->H5Tget_size(child->open_type) == chdf5_element_bytes(record->type) ? true : leave(child);
}

bool chdf5_read(chdf5_child *child, const chdf5_request *request) {
  const chdf5_library *h5 = &child->h5;
  if (request->dataset >= child->count) return chdf5_fail(child, CHDF5_BAD_REQUEST, "", 0, 0);
  const unsigned char *stored = child->records + child->record_offsets[request->dataset];
  chdf5_record record;
  char name[CHDF5_NAME_BYTES];
  memcpy(&record, stored, sizeof record);
  memcpy(name, stored + sizeof record, record.name_bytes);
  name[record.name_bytes] = 0;
  hsize_t start[CHDF5_RANK], count[CHDF5_RANK];
  uint64_t bytes = chdf5_element_bytes(record.type);
  for (uint32_t i = 0; i < record.rank; i++) {
    start[i] = request->start[i];
    count[i] = request->count[i];
    if (count[i] == 0 || start[i] >= record.dimensions[i] || count[i] > record.dimensions[i] - start[i] ||
        __builtin_mul_overflow(bytes, count[i], &bytes) || bytes > child->window_bytes) {
      return chdf5_fail(child, CHDF5_BAD_REQUEST, name, i, 0);
    }
  }
  if (!enter(child, request->dataset, name, &record)) return chdf5_fail(child, CHDF5_UNREADABLE, name, 0, 0);
  hid_t memory = H5S_ALL, selected = H5S_ALL;
  if (record.rank > 0) {
    selected = child->open_space;
    memory = h5->H5Screate_simple((int)record.rank, count, 0);
    if (memory < 0 || h5->H5Sselect_hyperslab(selected, H5S_SELECT_SET, start, 0, count, 0) < 0) {
      return chdf5_explain(child), chdf5_fail(child, CHDF5_UNREADABLE, name, 0, 0);
    }
  }
  const herr_t result = h5->H5Dread(child->open_dataset, child->open_type, memory, selected, H5P_DEFAULT, child->window);
  if (result < 0) chdf5_explain(child);
  if (record.rank > 0) h5->H5Sclose(memory);
  if (result < 0) return chdf5_fail(child, CHDF5_UNREADABLE, name, 0, 0);
  child->reply.bytes = bytes;
  return true;
}
