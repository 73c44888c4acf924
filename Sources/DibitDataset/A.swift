internal import DibitTensor
