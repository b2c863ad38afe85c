// What the forward pass asks of whoever places the experts. The model knows no tier; a placement
// knows no layer maths.
#pragma once

#include "base/status.h"

namespace rota {

enum class PassKind { kPrefill, kDecode, kVerify, kDraft };

class RoutedExperts {
 public:
  virtual ~RoutedExperts() = default;

  // Called once before layer 0 of a pass of `rows` rows; run() may see them in steps.
  virtual void begin_pass(PassKind kind, int rows) = 0;

  // Added to the router's SELECTION scores of this layer, [experts], or nullptr for exact routing.
  // Mixing weights never see it. Read once per layer and pass, before run(): all rows of a pass see
  // the same residency.
  virtual const float* selection_bias(int layer) = 0;

  // Guessing costs a router pass: the model guesses only what a placement wants to know.
  virtual bool wants_hints(int layer) const {
    (void)layer;
    return false;
  }

  // A guess of what `layer` will route to, ids[rows, top_k] (may be wrong); the placement may start
  // reading.
  virtual void hint(int layer, int rows, int top_k, const int* ids) = 0;

  // x[rows, dim] of the next run() is computed on the device, which has more to do until then:
  // what run() needs of x elsewhere may set out.
  virtual void arrive(const float* x, int rows) { (void)x, (void)rows; }

  // Whether run() computes on the host: x and y are then host addresses, whatever the device is,
  // and the model brings them there and back.
  virtual bool computes_on_host() const { return false; }

  // y[rows, dim] = sum over the chosen experts, in the ORDER GIVEN (a row's sum is fp32, left to
  // right, starting at 0):
  //   y_r = sum_k w2_e( weight_rk * silu(min(w1_e x_r, L)) * clamp(w3_e x_r, -L, L) )       (V4.1
  //   reference 2.10)
  // x[rows, dim] and y are addresses on the model's device (or see above); ids[rows, top_k] and
  // weights[rows, top_k] are on the host. With activation quantisation x is already rounded; the
  // placement rounds what enters w2. Row-invariant: a row's bits depend on that row alone.
  virtual Status run(int layer, int rows, int top_k, const int* ids, const float* weights,
                     const float* x, float* y) = 0;
};

}  // namespace rota
