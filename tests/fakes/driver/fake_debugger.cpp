// libcudadebugger.so.1, which the driver loads when it records a fault. Nothing is in it.
