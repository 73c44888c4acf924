// Where libhdf5's headers are installed, the declarations of library.h are compared with them.
#if __has_include(<hdf5/serial/hdf5.h>)
#include <hdf5/serial/hdf5.h>

#define CHDF5_CHECKING
#include "library.h"

#define COMPARE(result, name, parameters) \
  _Static_assert(__builtin_types_compatible_p(__typeof__(&name), __typeof__(((chdf5_library *)0)->name)), #name);
CHDF5_FUNCTIONS(COMPARE)
#undef COMPARE

_Static_assert(sizeof(hid_t) == 8 && sizeof(hsize_t) == 8 && sizeof(haddr_t) == 8 && sizeof(herr_t) == 4 && sizeof(H5T_class_t) == 4, "");
_Static_assert(offsetof(H5L_info_t, type) == 0 && sizeof(H5L_type_t) == 4 && offsetof(H5E_error2_t, desc) == 48, "");
_Static_assert(H5P_DEFAULT == 0 && H5E_DEFAULT == 0 && H5S_ALL == 0 && H5_INDEX_NAME == 0 && H5_ITER_INC == 0 && H5S_SELECT_SET == 0, "");
_Static_assert(H5L_TYPE_HARD == 0 && H5L_TYPE_SOFT == 1 && H5L_TYPE_EXTERNAL == 64, "");
_Static_assert(H5I_GROUP == 2 && H5I_DATATYPE == 3 && H5I_DATASET == 5 && H5S_SCALAR == 0 && H5S_SIMPLE == 1, "");
_Static_assert(H5T_INTEGER == 0 && H5T_FLOAT == 1 && H5T_TIME == 2 && H5T_STRING == 3 && H5T_BITFIELD == 4 && H5T_OPAQUE == 5, "");
_Static_assert(H5T_COMPOUND == 6 && H5T_REFERENCE == 7 && H5T_ENUM == 8 && H5T_VLEN == 9 && H5T_ARRAY == 10, "");
_Static_assert(H5T_ORDER_LE == 0 && H5T_ORDER_BE == 1 && H5T_SGN_NONE == 0 && H5T_SGN_2 == 1 && H5T_NORM_IMPLIED == 0, "");
_Static_assert(H5D_COMPACT == 0 && H5D_CONTIGUOUS == 1 && H5D_CHUNKED == 2 && H5D_VIRTUAL == 3 && H5D_SPACE_STATUS_ALLOCATED == 2, "");
_Static_assert(H5Z_FILTER_DEFLATE == 1 && H5Z_FILTER_SHUFFLE == 2 && H5Z_FILTER_FLETCHER32 == 3 && H5E_WALK_UPWARD == 0, "");
#else
typedef int chdf5_headers_are_not_installed;
#endif
