internal import DibitJSON
