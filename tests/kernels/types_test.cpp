// The names and sizes of element types and operators, and which errors a caller may recover from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/cuda_error.hpp"
#include "rondo/types.hpp"
#include "topology/graph/error.hpp"

namespace rondo {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Types, EveryNameIsReadBack) {
    for (const ElementType type : all_element_types) {
        EXPECT_EQ(parse_element_type(to_string(type)), type);
    }
    for (const ReduceOp op : all_reduce_ops) {
        EXPECT_EQ(parse_reduce_op(to_string(op)), op);
    }
}

TEST(Types, NamesAndSizes) {
    EXPECT_EQ(to_string(ElementType::bf16), "bf16");
    EXPECT_EQ(to_string(ElementType::f8e5m2), "f8e5m2");
    EXPECT_EQ(to_string(ReduceOp::premul_sum), "premul_sum");
    EXPECT_EQ(size_of(ElementType::i8), 1u);
    EXPECT_EQ(size_of(ElementType::u32), 4u);
    EXPECT_EQ(size_of(ElementType::i64), 8u);
    EXPECT_EQ(size_of(ElementType::f16), 2u);
    EXPECT_EQ(size_of(ElementType::f64), 8u);
    EXPECT_EQ(size_of(ElementType::f8e4m3), 1u);
}

TEST(Types, AnUnknownNameIsRepeatedWithTheKnownOnes) {
    try {
        parse_element_type("float32");
        FAIL() << "float32 was understood";
    } catch (const InvalidArgument& error) {
        EXPECT_THAT(error.what(),
                    AllOf(HasSubstr("'float32'"), HasSubstr("f32"), HasSubstr("f8e4m3")));
    }
    EXPECT_THROW(parse_reduce_op(""), InvalidArgument);
    EXPECT_THROW(parse_reduce_op("SUM"), InvalidArgument);
}

TEST(Types, ANumberWithoutANameIsAnError) {
    EXPECT_THROW(size_of(static_cast<ElementType>(12)), InvalidArgument);
    EXPECT_THROW(to_string(static_cast<ReduceOp>(200)), InvalidArgument);
}

TEST(Errors, OnlyThoseThatChangedNothingAreRecoverable) {
    EXPECT_TRUE(recoverable(InvalidArgument("x")));
    EXPECT_TRUE(recoverable(Unsupported("x")));
    EXPECT_TRUE(recoverable(TopologyError("x")));
    EXPECT_FALSE(recoverable(MismatchError("x")));
    EXPECT_FALSE(recoverable(TimeoutError("x")));
    EXPECT_FALSE(recoverable(AbortedError("x")));
    EXPECT_FALSE(recoverable(CudaError(cudaErrorIllegalAddress, "x")));
}

}  // namespace
}  // namespace rondo
