// HDF5 files, read by libhdf5 in a child process. See docs/decisions/0002-hdf5-in-a-child.md.
#ifndef CHDF5_H
#define CHDF5_H

#include <stddef.h>
#include <stdint.h>

enum { CHDF5_RANK = 8, CHDF5_NAME_BYTES = 512, CHDF5_TEXT_BYTES = 256, CHDF5_DEPTH = 16 };

/// What the child answers with. The operands are in the reply: name, text, first and second.
enum {
  CHDF5_OK = 0,
  CHDF5_NO_LIBRARY,        // text: the loader's message
  CHDF5_OLD_LIBRARY,       // text: its version, or the function it lacks
  CHDF5_NOT_OPENED,        // text: libhdf5's message
  CHDF5_UNREADABLE,        // name, text: libhdf5's message
  CHDF5_EXTERNAL_LINK,     // name, text: the file it leads to
  CHDF5_USER_LINK,         // name, first: the link's type
  CHDF5_EXTERNAL_STORAGE,  // name, text: the file
  CHDF5_VIRTUAL,           // name
  CHDF5_TYPE,              // name, text: what it is
  CHDF5_FILTER,            // name, text: its name, first: its number
  CHDF5_CHUNK,             // name, first: limit in bytes, second: bytes
  CHDF5_INFLATED,          // name, first: stored bytes, second: bytes of the elements
  CHDF5_UNALLOCATED,       // name, first: chunks or bytes expected, second: found
  CHDF5_TOO_DEEP,          // name
  CHDF5_TOO_MANY,          // first: limit, second: of what (0 links, 1 bytes of description)
  CHDF5_LONG_NAME,         // name: its start
  CHDF5_SHAPE,             // name, first: rank
  CHDF5_OUTSIDE,           // name, first: end of the data, second: bytes of the file
  CHDF5_NO_MEMORY,
  CHDF5_BAD_REQUEST,
  CHDF5_CODES
};

/// Element types, by their index in this list; the file's byte order is not part of it.
enum { CHDF5_U8, CHDF5_I8, CHDF5_U16, CHDF5_I16, CHDF5_U32, CHDF5_I32, CHDF5_U64, CHDF5_I64, CHDF5_F16, CHDF5_BF16, CHDF5_F32, CHDF5_F64,
       CHDF5_TYPES };

/// How a dataset is stored.
enum { CHDF5_BIG_ENDIAN = 1, CHDF5_COMPACT = 2, CHDF5_CHUNKED = 4, CHDF5_SHUFFLE = 8, CHDF5_GZIP = 16, CHDF5_CHECKSUM = 32 };

/// One dataset of the listing, followed by `name_bytes` bytes of its path, padded to a multiple of 8.
typedef struct {
  uint32_t type, rank, flags, name_bytes;
  uint64_t dimensions[CHDF5_RANK];
  uint64_t stored;  // bytes in the file
  uint64_t offset;  // of the data in the file; all ones when it has no single place
} chdf5_record;

/// A block of a dataset, at most as large as the window.
typedef struct {
  uint64_t dataset, seconds;
  uint64_t start[CHDF5_RANK], count[CHDF5_RANK];
} chdf5_request;

/// The answer to a request; its data are in the window. The first one answers no request and has the listing.
typedef struct {
  uint64_t code;
  uint64_t bytes, first, second;
  char name[CHDF5_NAME_BYTES], text[CHDF5_TEXT_BYTES];  // terminated
} chdf5_reply;

/// What a child may use.
typedef struct {
  uint64_t memory;  // bytes of addresses beyond what it inherits
  uint64_t processor_seconds;
  uint64_t open_seconds;  // for opening and listing
  uint64_t chunk;         // bytes of one chunk
  uint64_t links;
} chdf5_limits;

/// A running child; the parent's side.
typedef struct {
  int32_t process, socket;
  void *_Nullable window;
  size_t window_bytes;
} chdf5_reader;

/// How waiting for an answer ended.
enum { CHDF5_ANSWERED, CHDF5_TIMED_OUT, CHDF5_ENDED, CHDF5_GARBLED };

/// Forks a child that opens the file behind `file` and sends its listing. Returns 0 or an errno value. `file` stays the caller's.
int32_t chdf5_start(int32_t file, uint64_t file_bytes, size_t window_bytes, const chdf5_limits *_Nonnull limits,
                    chdf5_reader *_Nonnull reader);

/// Waits for an answer, at most about `seconds` in which this process runs; time in which it is stopped does not count.
int32_t chdf5_receive(const chdf5_reader *_Nonnull reader, uint64_t seconds, chdf5_reply *_Nonnull reply);

/// Sends a request; false when the child does not take it.
_Bool chdf5_send(const chdf5_reader *_Nonnull reader, const chdf5_request *_Nonnull request);

/// Ends the child, waits for it and gives everything back. Returns its wait status if it had ended by itself, otherwise 0. `ending`:
/// the child has closed its socket, so it is about to end by itself and gets two seconds for that.
int32_t chdf5_stop(chdf5_reader *_Nonnull reader, _Bool ending);

#endif
