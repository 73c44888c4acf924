#include "vector.inc.h"
#include "windows.inc.h"
#include "weights.inc.h"
#include "scales.inc.h"
#include "trellis.inc.h"
#include "quantize.inc.h"
#include "chainfeedback.inc.h"
#include "feedback.inc.h"
#include "grid.inc.h"
#include "bfloat.inc.h"
#include "gemm.inc.h"
#include "elementwise.inc.h"
#include "norm.inc.h"
#include "rope.inc.h"
#include "keyvalue.inc.h"
#include "tiles.inc.h"
#include "attention.inc.h"
#include "loss.inc.h"

const dibit_kernels DIBIT_TABLE = {
  .expand = expand,
  .matvec = matvec,
  .fit_scales = fit_scales,
  .choose_codes = choose_codes,
  .pack_codes = pack_codes,
  .round_backward = round_backward,
  .fit_important = fit_important,
  .solve_factored = solve_factored,
  .moment_energies = moment_energies,
  .round_feedback = round_feedback,
  .round_descent = round_descent,
  .refit_scales = refit_scales,
  .quantize_activations = quantize_activations,
  .grid_matvec = grid_matvec,
  .grid_matmul = grid_matmul,
  .round_bfloat = round_bfloat,
  .pair_rows = pair_rows,
  .pair_columns = pair_columns,
  .pair_matmul = pair_matmul,
  .gemm_nt = gemm_nt,
  .gemm_nn = gemm_nn,
  .add = add,
  .scale = scale,
  .sum_of_squares = sum_of_squares,
  .dropout = dropout,
  .adamw = adamw,
  .rms_norm = rms_norm,
  .rms_norm_dx = rms_norm_dx,
  .rms_norm_dweight = rms_norm_dweight,
  .layer_norm = layer_norm,
  .layer_norm_dx = layer_norm_dx,
  .layer_norm_dweight = layer_norm_dweight,
  .add_bias = add_bias,
  .sum_rows = sum_rows,
  .multiply_columns = multiply_columns,
  .sum_products = sum_products,
  .rope = rope,
  .gate = gate,
  .gate_backward = gate_backward,
  .activate = activate,
  .activate_backward = activate_backward,
  .soft_cap = soft_cap,
  .soft_cap_backward = soft_cap_backward,
  .attention = attention,
  .attention_backward = attention_backward,
  .quantize_heads_i8 = quantize_heads_i8,
  .round_f16 = round_f16,
  .fake_quantize_i8 = fake_quantize_i8,
  .fake_quantize_i8_backward = fake_quantize_i8_backward,
  .cross_entropy = cross_entropy,
  .divergence = divergence,
  .log_sum_exp = log_sum_exp,
};
