#include "child.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  chdf5_child *child;
  int depth;
  size_t length;
  char path[CHDF5_NAME_BYTES];
} walk;

static bool add(walk *w, hid_t dataset) {
  chdf5_child *child = w->child;
  chdf5_record record;
  bool skipped;
  if (!chdf5_describe(child, dataset, w->path, &record, &skipped)) return false;
  if (skipped) {
    child->reply.text[0] = 0;
    return true;
  }
  record.name_bytes = (uint32_t)w->length;
  const size_t padded = (w->length + 7) / 8 * 8, bytes = sizeof record + padded;
  if (bytes > child->window_bytes - child->used) return chdf5_fail(child, CHDF5_TOO_MANY, "", child->window_bytes, 1);
  if (child->count == child->capacity) {
    const uint64_t capacity = child->capacity ? child->capacity * 2 : 256;
    size_t *record_offsets = realloc(child->record_offsets, capacity * sizeof *record_offsets);
    if (!record_offsets) return chdf5_fail(child, CHDF5_NO_MEMORY, "", 0, 0);
    child->record_offsets = record_offsets;
    child->capacity = capacity;
  }
  unsigned char *target = child->window + child->used;
  memcpy(target, &record, sizeof record);
  memset(target + sizeof record, 0, padded);
  memcpy(target + sizeof record, w->path, w->length);
  child->record_offsets[child->count++] = child->used;
  child->used += bytes;
  return true;
}

static bool external(walk *w, hid_t group, const char *link) {
  chdf5_child *child = w->child;
  const chdf5_library *h5 = &child->h5;
  static char value[4096];
  const char *file = 0, *object = 0;
  unsigned flags;
  if (h5->H5Lget_val(group, link, value, sizeof value, child->link_access) >= 0) {
    value[sizeof value - 1] = 0;
    if (h5->H5Lunpack_elink_val(value, sizeof value, &flags, &file, &object) < 0) file = 0;
  }
  chdf5_copy(child->reply.text, sizeof child->reply.text, file ? file : "");
  return chdf5_fail(child, CHDF5_EXTERNAL_LINK, w->path, 0, 0);
}

static herr_t visit(hid_t group, const char *link, const H5L_info_t *info, void *data);

static bool enter(walk *w, hid_t group) {
  chdf5_child *child = w->child;
  if (w->depth >= CHDF5_DEPTH) return chdf5_fail(child, CHDF5_TOO_DEEP, w->path, 0, 0);
  w->depth++;
  hsize_t next = 0;
  const herr_t result = child->h5.iterate(group, H5_INDEX_NAME, H5_ITER_INC, &next, visit, w);
  w->depth--;
  if (result == 0) return true;
  if (child->reply.code == CHDF5_OK) chdf5_explain(child);
  return chdf5_fail(child, CHDF5_UNREADABLE, w->path, 0, 0);
}

static bool follow(walk *w, hid_t group, const char *link, int type) {
  chdf5_child *child = w->child;
  const chdf5_library *h5 = &child->h5;
  if (type == H5L_TYPE_EXTERNAL) return external(w, group, link);
  if (type != H5L_TYPE_HARD && type != H5L_TYPE_SOFT) return chdf5_fail(child, CHDF5_USER_LINK, w->path, (uint64_t)(int64_t)type, 0);
  const hid_t object = h5->H5Oopen(group, link, child->link_access);
  if (object < 0) return chdf5_explain(child), chdf5_fail(child, CHDF5_UNREADABLE, w->path, 0, 0);
  bool fine = true;
  switch (h5->H5Iget_type(object)) {
    case H5I_GROUP: fine = enter(w, object); break;
    case H5I_DATASET: fine = add(w, object); break;
    case H5I_DATATYPE: break;  // a type under a name of its own; it has no data
    default: fine = chdf5_fail(child, CHDF5_UNREADABLE, w->path, 0, 0);
  }
  h5->H5Oclose(object);
  return fine;
}

// Returns 1 to stop.
static herr_t visit(hid_t group, const char *link, const H5L_info_t *info, void *data) {
  walk *w = data;
  chdf5_child *child = w->child;
  if (++child->links > child->limits.links) return chdf5_fail(child, CHDF5_TOO_MANY, "", child->limits.links, 0), 1;
  const size_t before = w->length, slash = before > 0, length = strnlen(link, CHDF5_NAME_BYTES);
  if (before + slash + length >= CHDF5_NAME_BYTES) return chdf5_fail(child, CHDF5_LONG_NAME, link, 0, 0), 1;
  if (slash) w->path[before] = '/';
  memcpy(w->path + before + slash, link, length);
  w->length = before + slash + length;
  w->path[w->length] = 0;
  const bool fine = follow(w, group, link, info->type);
  w->length = before;
  w->path[before] = 0;
  return fine ? 0 : 1;
}

bool chdf5_list(chdf5_child *child) {
  walk w = {.child = child};
  const hid_t root = child->h5.H5Gopen2(child->file, "/", H5P_DEFAULT);
  if (root < 0) return chdf5_explain(child), chdf5_fail(child, CHDF5_NOT_OPENED, "", 0, 0);
  if (!enter(&w, root)) return false;
  child->h5.H5Oclose(root);
  // The parent reads the listing in the window, the child its own copy.
  child->records = malloc(child->used ? child->used : 1);
  if (!child->records) return chdf5_fail(child, CHDF5_NO_MEMORY, "", 0, 0);
  memcpy(child->records, child->window, child->used);
  child->reply.bytes = child->used;
  child->reply.first = child->count;
  return true;
}
