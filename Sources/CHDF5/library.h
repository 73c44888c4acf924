// The part of libhdf5 that is used, found when the program runs. Headers, where there are some, check this when it is built.
#ifndef CHDF5_LIBRARY_H
#define CHDF5_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef CHDF5_CHECKING
typedef int64_t hid_t;
typedef int herr_t, htri_t, H5Z_filter_t;
typedef unsigned long long hsize_t;
typedef long long hssize_t;
typedef int H5S_class_t, H5T_class_t, H5T_order_t, H5T_sign_t, H5T_norm_t, H5D_layout_t, H5D_space_status_t, H5I_type_t, H5_index_t,
    H5_iter_order_t, H5S_seloper_t, H5E_direction_t;
typedef uint64_t haddr_t;
// Only its first field is read, which is the same in all versions: the type of the link.
typedef struct {
  int type;
} H5L_info_t;
typedef struct {
  hid_t cls_id, maj_num, min_num;
  unsigned line;
  const char *func_name, *file_name, *desc;
} H5E_error2_t;
typedef herr_t (*H5L_iterate_t)(hid_t, const char *, const H5L_info_t *, void *);
typedef herr_t (*H5L_elink_traverse_t)(const char *, const char *, const char *, const char *, unsigned *, hid_t, void *);
typedef herr_t (*H5E_walk2_t)(unsigned, const H5E_error2_t *, void *);
typedef herr_t (*H5E_auto2_t)(hid_t, void *);

enum { H5P_DEFAULT = 0, H5E_DEFAULT = 0, H5S_ALL = 0, H5F_ACC_RDONLY = 0 };
enum { H5_INDEX_NAME = 0, H5_ITER_INC = 0 };
enum { H5L_TYPE_HARD = 0, H5L_TYPE_SOFT = 1, H5L_TYPE_EXTERNAL = 64 };
enum { H5I_GROUP = 2, H5I_DATATYPE = 3, H5I_DATASET = 5 };
enum { H5S_SCALAR = 0, H5S_SIMPLE = 1 };
enum { H5T_INTEGER = 0, H5T_FLOAT = 1, H5T_TIME = 2, H5T_STRING = 3, H5T_BITFIELD = 4, H5T_OPAQUE = 5, H5T_COMPOUND = 6,
       H5T_REFERENCE = 7, H5T_ENUM = 8, H5T_VLEN = 9, H5T_ARRAY = 10 };
enum { H5T_ORDER_LE = 0, H5T_ORDER_BE = 1, H5T_SGN_NONE = 0, H5T_SGN_2 = 1, H5T_NORM_IMPLIED = 0 };
enum { H5D_COMPACT = 0, H5D_CONTIGUOUS = 1, H5D_CHUNKED = 2, H5D_VIRTUAL = 3, H5D_SPACE_STATUS_ALLOCATED = 2 };
enum { H5Z_FILTER_DEFLATE = 1, H5Z_FILTER_SHUFFLE = 2, H5Z_FILTER_FLETCHER32 = 3 };
enum { H5S_SELECT_SET = 0, H5E_WALK_UPWARD = 0 };
#define H5S_UNLIMITED ((hsize_t)(hssize_t)(-1))
#define HADDR_UNDEF ((haddr_t)(int64_t)(-1))
#endif

// F(result, name, parameters)
#define CHDF5_FUNCTIONS(F)                                                                                                               \
  F(herr_t, H5open, (void))                                                                                                              \
  F(herr_t, H5get_libversion, (unsigned *, unsigned *, unsigned *))                                                                      \
  F(herr_t, H5PLset_loading_state, (unsigned))                                                                                           \
  F(herr_t, H5Eset_auto2, (hid_t, H5E_auto2_t, void *))                                                                                  \
  F(herr_t, H5Ewalk2, (hid_t, H5E_direction_t, H5E_walk2_t, void *))                                                                     \
  F(hid_t, H5Fopen, (const char *, unsigned, hid_t))                                                                                     \
  F(hid_t, H5Gopen2, (hid_t, const char *, hid_t))                                                                                       \
  F(herr_t, H5Lget_val, (hid_t, const char *, void *, size_t, hid_t))                                                                    \
  F(herr_t, H5Lunpack_elink_val, (const void *, size_t, unsigned *, const char **, const char **))                                       \
  F(hid_t, H5Oopen, (hid_t, const char *, hid_t))                                                                                        \
  F(herr_t, H5Oclose, (hid_t))                                                                                                           \
  F(H5I_type_t, H5Iget_type, (hid_t))                                                                                                    \
  F(hid_t, H5Dopen2, (hid_t, const char *, hid_t))                                                                                       \
  F(herr_t, H5Dclose, (hid_t))                                                                                                           \
  F(hid_t, H5Dget_space, (hid_t))                                                                                                        \
  F(hid_t, H5Dget_type, (hid_t))                                                                                                         \
  F(hid_t, H5Dget_create_plist, (hid_t))                                                                                                 \
  F(hsize_t, H5Dget_storage_size, (hid_t))                                                                                               \
  F(herr_t, H5Dget_space_status, (hid_t, H5D_space_status_t *))                                                                          \
  F(haddr_t, H5Dget_offset, (hid_t))                                                                                                     \
  F(herr_t, H5Dget_num_chunks, (hid_t, hid_t, hsize_t *))                                                                                \
  F(herr_t, H5Dread, (hid_t, hid_t, hid_t, hid_t, hid_t, void *))                                                                        \
  F(H5S_class_t, H5Sget_simple_extent_type, (hid_t))                                                                                     \
  F(int, H5Sget_simple_extent_ndims, (hid_t))                                                                                            \
  F(int, H5Sget_simple_extent_dims, (hid_t, hsize_t *, hsize_t *))                                                                       \
  F(hid_t, H5Screate_simple, (int, const hsize_t *, const hsize_t *))                                                                    \
  F(herr_t, H5Sselect_hyperslab, (hid_t, H5S_seloper_t, const hsize_t *, const hsize_t *, const hsize_t *, const hsize_t *))             \
  F(herr_t, H5Sclose, (hid_t))                                                                                                           \
  F(H5T_class_t, H5Tget_class, (hid_t))                                                                                                  \
  F(size_t, H5Tget_size, (hid_t))                                                                                                        \
  F(H5T_order_t, H5Tget_order, (hid_t))                                                                                                  \
  F(H5T_sign_t, H5Tget_sign, (hid_t))                                                                                                    \
  F(size_t, H5Tget_precision, (hid_t))                                                                                                   \
  F(int, H5Tget_offset, (hid_t))                                                                                                         \
  F(herr_t, H5Tget_fields, (hid_t, size_t *, size_t *, size_t *, size_t *, size_t *))                                                    \
  F(size_t, H5Tget_ebias, (hid_t))                                                                                                       \
  F(H5T_norm_t, H5Tget_norm, (hid_t))                                                                                                    \
  F(hid_t, H5Tcopy, (hid_t))                                                                                                             \
  F(herr_t, H5Tset_order, (hid_t, H5T_order_t))                                                                                          \
  F(htri_t, H5Tis_variable_str, (hid_t))                                                                                                 \
  F(herr_t, H5Tclose, (hid_t))                                                                                                           \
  F(htri_t, H5Aexists, (hid_t, const char *))                                                                                            \
  F(hid_t, H5Aopen, (hid_t, const char *, hid_t))                                                                                        \
  F(hid_t, H5Aget_space, (hid_t))                                                                                                        \
  F(hid_t, H5Aget_type, (hid_t))                                                                                                         \
  F(herr_t, H5Aread, (hid_t, hid_t, void *))                                                                                             \
  F(herr_t, H5Aclose, (hid_t))                                                                                                           \
  F(hid_t, H5Pcreate, (hid_t))                                                                                                           \
  F(herr_t, H5Pclose, (hid_t))                                                                                                           \
  F(herr_t, H5Pset_nlinks, (hid_t, size_t))                                                                                              \
  F(herr_t, H5Pset_elink_cb, (hid_t, H5L_elink_traverse_t, void *))                                                                      \
  F(herr_t, H5Pset_chunk_cache, (hid_t, size_t, size_t, double))                                                                         \
  F(H5D_layout_t, H5Pget_layout, (hid_t))                                                                                                \
  F(int, H5Pget_external_count, (hid_t))                                                                                                 \
  F(herr_t, H5Pget_external, (hid_t, unsigned, size_t, char *, int64_t *, hsize_t *))                                                    \
  F(int, H5Pget_nfilters, (hid_t))                                                                                                       \
  F(H5Z_filter_t, H5Pget_filter2, (hid_t, unsigned, unsigned *, size_t *, unsigned *, size_t, char *, unsigned *))                       \
  F(int, H5Pget_chunk, (hid_t, int, hsize_t *))

typedef struct {
#define FIELD(result, name, parameters) result(*name) parameters;
  CHDF5_FUNCTIONS(FIELD)
#undef FIELD
  // Called H5Literate up to 1.10, H5Literate2 from 1.12.
  herr_t (*iterate)(hid_t, H5_index_t, H5_iter_order_t, hsize_t *, H5L_iterate_t, void *);
  hid_t link_access, dataset_access;  // classes of property lists
} chdf5_library;

/// Loads libhdf5, once in the life of the process, and before any child is forked: a thread that is loading something else at the moment
/// of the fork leaves the loader of the child half done, and a child that loads with it crashes or hangs.
void chdf5_load(void);

/// Starts the loaded library, in the child; on failure a code of chdf5.h, and why in `text`.
int chdf5_begin(chdf5_library *h5, char *text, size_t text_bytes);

#endif
