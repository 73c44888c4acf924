#include "library.h"
#include "chdf5.h"
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static void copy(char *to, size_t bytes, const char *from) {
  const size_t length = from ? strnlen(from, bytes - 1) : 0;
  memcpy(to, from ? from : "", length);
  to[length] = 0;
}

// Debian's serial build first; then other builds and versions, newest last.
static const char *const names[] = {"libhdf5_serial.so.103", "libhdf5.so.103",    "libhdf5_serial.so.200", "libhdf5.so.200",
                                    "libhdf5_serial.so.310", "libhdf5_serial.so", "libhdf5.so.310",        "libhdf5.so"};

// What loading came to; children begin with a copy.
static chdf5_library library;
static const hid_t *link_access, *dataset_access;
static int code = CHDF5_NO_LIBRARY;
static char reason[CHDF5_TEXT_BYTES];

static void load(void) {
  void *handle = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names && !handle; i++) {
    handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle && i == 0) copy(reason, sizeof reason, dlerror());
  }
  if (!handle) return;
  code = CHDF5_OLD_LIBRARY;
#define FIND(result, name, parameters)                               \
  library.name = (result(*) parameters)dlsym(handle, #name);         \
  if (!library.name) {                                               \
    copy(reason, sizeof reason, "it lacks the function " #name);     \
    return;                                                          \
  }
  CHDF5_FUNCTIONS(FIND)
#undef FIND
  void *iterate = dlsym(handle, "H5Literate2");
  if (!iterate) iterate = dlsym(handle, "H5Literate");
  if (!iterate) return copy(reason, sizeof reason, "it lacks the function H5Literate");
  library.iterate = (herr_t(*)(hid_t, H5_index_t, H5_iter_order_t, hsize_t *, H5L_iterate_t, void *))iterate;
  link_access = dlsym(handle, "H5P_CLS_LINK_ACCESS_ID_g");
  dataset_access = dlsym(handle, "H5P_CLS_DATASET_ACCESS_ID_g");
  if (!link_access || !dataset_access) return copy(reason, sizeof reason, "it lacks property lists");
  code = CHDF5_OK;
}

void chdf5_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
}

int chdf5_begin(chdf5_library *h5, char *text, size_t text_bytes) {
  if (code != CHDF5_OK) return copy(text, text_bytes, reason), code;
  // Before 1.10 identifiers had 32 bits; later they are what library.h says.
  unsigned major = 0, minor = 0, release = 0;
  if (library.H5get_libversion(&major, &minor, &release) < 0 || major < 1 || (major == 1 && minor < 10)) {
    copy(text, text_bytes, "it is older than 1.10");
    return CHDF5_OLD_LIBRARY;
  }
  if (library.H5open() < 0 || library.H5Eset_auto2(H5E_DEFAULT, 0, 0) < 0 || library.H5PLset_loading_state(0) < 0) {
    copy(text, text_bytes, "it cannot be started");
    return CHDF5_OLD_LIBRARY;
  }
  library.link_access = *link_access;
  library.dataset_access = *dataset_access;
  *h5 = library;
  return CHDF5_OK;
}
