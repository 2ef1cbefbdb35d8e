// A library that is called like the one for GPUs.
extern "C" __attribute__((visibility("default"))) int rondo_namesake() {
    return 0;
}
