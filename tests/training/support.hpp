// What the tests of the training layer share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "rondo/error.hpp"

namespace rondo::training::test {

/// Under a sanitizer the same paths run with less data; what is learned is another tree's question.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// The greatest difference in relation to the greatest parameter.
inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
    EXPECT_EQ(a.size(), b.size());
    double worst = 0, scale = 0;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(a[i]) - b[i]));
        scale = std::max(scale, std::abs(static_cast<double>(a[i])));
    }
    return worst / scale;
}

/// The text of the Expected that `call` throws; anything else is a failure.
template <class Expected, class Call>
std::string error_of(Call call) {
    try {
        call();
    } catch (const Expected& error) {
        return error.what();
    } catch (const std::exception& error) {
        ADD_FAILURE() << "another error: " << error.what();
        return "";
    }
    ADD_FAILURE() << "no error";
    return "";
}

inline void expect_words(const std::string& text, const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        EXPECT_NE(text.find(word), std::string::npos) << "'" << word << "' is not in: " << text;
    }
}

/// Runs body(worker) on a thread each and gives back what each threw.
template <class Body>
std::vector<std::string> run_workers(std::size_t workers, Body body) {
    std::vector<std::string> errors(workers);
    std::vector<std::jthread> threads;
    for (std::size_t w = 0; w < workers; ++w) {
        threads.emplace_back([&, w] {
            try {
                body(w);
            } catch (const std::exception& error) {
                errors[w] = error.what();
            }
        });
    }
    threads.clear();
    return errors;
}

}  // namespace rondo::training::test
