"""Where the time of a service under load goes: by function, by layer, and in native code and the kernel."""
