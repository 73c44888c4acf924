// What the parts of the child share. Everything here runs in the child only: one thread, no Swift, no stdio.
#ifndef CHDF5_CHILD_H
#define CHDF5_CHILD_H

#include "chdf5.h"
#include "library.h"

typedef struct {
  chdf5_library h5;
  chdf5_limits limits;
  uint64_t file_bytes;
  unsigned char *window;
  size_t window_bytes;
  hid_t file, link_access;
  chdf5_reply reply;
  // The listing: where the record of each dataset begins in the window is not trusted later, so the child keeps its own copy.
  unsigned char *records;
  size_t used, *record_offsets;
  uint64_t count, capacity, links;
  // The dataset that was read last stays open, and with it libhdf5's cache of its chunks.
  uint64_t open_index;
  hid_t open_dataset, open_space, open_type;
} chdf5_child;

/// Sets the reply's code and name, unless one is set already; always returns false.
bool chdf5_fail(chdf5_child *child, uint32_t code, const char *name, uint64_t first, uint64_t second);

/// Copies at most `bytes - 1` bytes and terminates them.
void chdf5_copy(char *to, size_t bytes, const char *from);

/// Puts libhdf5's innermost message into the reply's text.
void chdf5_explain(chdf5_child *child);

/// A property list of this class that follows few soft links in a row and no links to other files.
hid_t chdf5_access(const chdf5_library *h5, hid_t class);

/// Describes every dataset of the file; false with the reply's code set.
bool chdf5_list(chdf5_child *child);

/// Checks one dataset and describes it; `record->dimensions` and all else but the name are set.
bool chdf5_describe(chdf5_child *child, hid_t dataset, const char *name, chdf5_record *record, bool *skipped);

/// The bytes of chunks that lie side by side in one step along the first dimension; 0 for a dataset without chunks.
uint64_t chdf5_stripe(const chdf5_library *h5, hid_t dataset, const chdf5_record *record);

/// The type of a dataset's elements, or CHDF5_TYPES with its description in the reply's text.
uint32_t chdf5_element_type(chdf5_child *child, hid_t dataset, hid_t type);

/// The bytes of one element of a type above.
uint64_t chdf5_element_bytes(uint32_t type);

/// Reads a block into the window; false with the reply's code set.
bool chdf5_read(chdf5_child *child, const chdf5_request *request);

/// Limits on memory, processor time, dumps and files: one descriptor more than are open.
bool chdf5_confine(const chdf5_limits *limits);

/// Lets system calls through that reading needs. Before the file is open that includes opening for reading, afterwards not.
bool chdf5_filter(bool may_open);

/// The child's whole life: `socket` and `file` are its only descriptors besides the standard ones. Never returns.
_Noreturn void chdf5_live(chdf5_child *child, int socket, int file);

#endif
