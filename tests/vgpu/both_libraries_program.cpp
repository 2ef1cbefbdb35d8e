// What a program sees that links both of Rondo's libraries.
#include <cstdio>
#include <exception>

#include "rondo/communicator.hpp"

extern "C" int rondo_namesake();

int main() try {
    rondo_namesake();
    rondo::Communicator::create();
    return 1;
} catch (const rondo::Error& error) {
    std::puts(error.what());
}
