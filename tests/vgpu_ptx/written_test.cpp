// PTX written by hand: what compilers rarely emit, errors of texts, and faults of programs.
#include <gmock/gmock.h>

#include "tests/vgpu_ptx/engine_fixture.hpp"

namespace vgpu::ptx::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// An entry `k` with one pointer parameter; %tid in %r0, the address of the thread's word in %rd0.
std::string entry(const std::string& body, const std::string& before = "") {
    return ".version 8.0\n.target sm_80\n.address_size 64\n" + before +
           "\n.visible .entry k(.param .u64 out)\n{\n"
           ".reg .pred %p<10>; .reg .b16 %h<10>; .reg .b32 %r<30>; .reg .b64 %rd<30>; .reg .f32 "
           "%f<20>; .reg .f64 %d<10>;\n"
           "ld.param.u64 %rd1, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd0, %r0, 4; add.s64 "
           "%rd0, %rd1, %rd0;\n" +
           body + "\nret;\n}\n";
}

std::vector<std::uint32_t> words(const std::string& body, unsigned threads,
                                 const std::string& before = "") {
    const std::string text = entry(body, before);
    Machine machine(text);
    std::uint32_t* const out = machine.upload(std::vector<std::uint32_t>(threads));
    machine.launch("k", {{1}, {threads}}, out);
    return machine.download(out, threads);
}

std::string error_of(const std::string& text) {
    try {
        const std::string_view view = text;
        Module::load(std::span(&view, 1), {.eager = true});
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(WrittenTest, Predicates) {
    EXPECT_THAT(
        words("setp.gt.u32 %p1|%p2, %r0, 1; selp.b32 %r1, 10, 20, %p1; @%p2 add.u32 %r1, %r1, 1;"
              "@!%p2 add.u32 %r1, %r1, 2; st.global.u32 [%rd0], %r1;",
              4),
        ElementsAre(21, 21, 12, 12));
}

TEST(WrittenTest, Carries) {
    EXPECT_THAT(
        words("add.cc.u32 %r1, 0xffffffff, %r0; addc.u32 %r2, 5, 0; st.global.u32 [%rd0], %r2;", 3),
        ElementsAre(5, 6, 6));
}

TEST(WrittenTest, BitFields) {
    EXPECT_THAT(words("bfe.s32 %r1, 0xf0, 4, 4; bfi.b32 %r2, 5, 0xffff, 4, 8; prmt.b32 %r3, "
                      "0x33221100, 0x77665544, 0x7531;"
                      "lop3.b32 %r4, 0xf0, 0xcc, 0xaa, 0x96; shf.l.wrap.b32 %r5, 0x80000000, 1, 1;"
                      "setp.eq.u32 %p1, %r0, 0; selp.b32 %r6, %r1, %r2, %p1; setp.eq.u32 %p1, %r0, "
                      "2; selp.b32 %r6, %r3, %r6, %p1;"
                      "setp.eq.u32 %p1, %r0, 3; selp.b32 %r6, %r4, %r6, %p1; setp.eq.u32 %p1, %r0, "
                      "4; selp.b32 %r6, %r5, %r6, %p1;"
                      "st.global.u32 [%rd0], %r6;",
                      5),
                ElementsAre(0xffffffffu, 0xf05fu, 0x77553311u, 0x96u, 3u));
}

TEST(WrittenTest, DirectedRounding) {
    EXPECT_THAT(
        words("mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f33000000;"  // 1 and 2^-25
              "add.rn.f32 %f3, %f1, %f2; add.rp.f32 %f4, %f1, %f2; add.rz.f32 %f5, %f1, %f2;"
              "setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, 1; selp.f32 %f6, %f4, %f5, %p2; "
              "selp.f32 %f6, %f3, %f6, %p1;"
              "st.global.f32 [%rd0], %f6;",
              3),
        ElementsAre(0x3f800000u, 0x3f800001u, 0x3f800000u));
}

TEST(WrittenTest, FlushesAndSaturates) {
    EXPECT_THAT(words("mov.f32 %f1, 0f00400000; add.ftz.f32 %f2, %f1, %f1; add.f32 %f3, %f1, %f1; "
                      "add.sat.f32 %f4, 0fBF800000, 0f3F000000;"
                      "setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, 1; selp.f32 %f6, %f3, %f4, "
                      "%p2; selp.f32 %f6, %f2, %f6, %p1;"
                      "st.global.f32 [%rd0], %f6;",
                      3),
                ElementsAre(0u, 0x00800000u, 0u));
}

TEST(WrittenTest, ConvertsToEightBitFloats) {
    // 1.0 and 448 to e4m3; 1000 saturates; 0.3 rounds
    EXPECT_THAT(words("cvt.rn.satfinite.e4m3x2.f32 %h1, 0f43E00000, 0f3F800000; "
                      "cvt.rn.satfinite.e4m3x2.f32 %h2, 0f447A0000, 0f3E99999A;"
                      "mov.b32 %r1, {%h1, %h2}; st.global.u32 [%rd0], %r1;",
                      1),
                ElementsAre(0x7e2a7e38u));
}

TEST(WrittenTest, ConvertsToIntegers) {
    EXPECT_THAT(words("cvt.rni.s32.f32 %r1, 0f40200000; cvt.rzi.u32.f32 %r2, 0fBF800000; "
                      "cvt.rzi.s32.f32 %r3, 0f7FC00000;"
                      "cvt.rpi.s32.f64 %r4, 0d4000666666666666; cvt.sat.u8.s32 %h1, 300; "
                      "cvt.u32.u16 %r5, %h1;"
                      "setp.eq.u32 %p1, %r0, 0; selp.b32 %r6, %r1, %r2, %p1; setp.eq.u32 %p1, %r0, "
                      "2; selp.b32 %r6, %r3, %r6, %p1;"
                      "setp.eq.u32 %p1, %r0, 3; selp.b32 %r6, %r4, %r6, %p1; setp.eq.u32 %p1, %r0, "
                      "4; selp.b32 %r6, %r5, %r6, %p1;"
                      "st.global.u32 [%rd0], %r6;",
                      5),
                ElementsAre(2u, 0u, 0u, 3u, 255u));
}

TEST(WrittenTest, NamedBarriersWithCounts) {
    // Warp 0 arrives only; warp 1 waits for both.
    EXPECT_THAT(words("setp.lt.u32 %p1, %r0, 32; @%p1 bra first; bar.sync 3, 64; "
                      "ld.volatile.global.u32 %r1, [%rd1]; add.u32 %r1, %r1, 1;"
                      "st.global.u32 [%rd0], %r1; bra done; first: mov.u32 %r1, 9; st.global.u32 "
                      "[%rd0], %r1; bar.arrive 3, 64; done:",
                      64)[40],
                10u);
}

TEST(WrittenTest, BranchTables) {
    EXPECT_THAT(words("t: .branchtargets a, b, c; brx.idx %r0, t; a: mov.u32 %r1, 1; bra end; b: "
                      "mov.u32 %r1, 2; bra end;"
                      "c: mov.u32 %r1, 3; end: st.global.u32 [%rd0], %r1;",
                      3),
                ElementsAre(1, 2, 3));
}

TEST(WrittenTest, LinksTexts) {
    const std::string one = entry(
        "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r0; call.uni (y), triple, (x); "
        "ld.param.b32 %r1, [y]; }"
        "ld.global.u32 %r2, [bonus]; add.u32 %r1, %r1, %r2; st.global.u32 [%rd0], %r1;",
        ".extern .func (.param .b32 r) triple(.param .b32 a);\n.extern .global .u32 bonus;");
    const std::string two =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .u32 bonus = 100;\n"
        ".visible .func (.param .b32 r) triple(.param .b32 a)\n{ .reg .b32 %r<3>; ld.param.b32 "
        "%r1, [a];"
        "mul.lo.u32 %r2, %r1, 3; st.param.b32 [r], %r2; ret; }";
    Machine machine(std::vector<std::string_view>{one, two});
    std::uint32_t* const out = machine.upload(std::vector<std::uint32_t>(3));
    machine.launch("k", {{1}, {3}}, out);
    EXPECT_THAT(machine.download(out, 3), ElementsAre(100, 103, 106));
}

TEST(WrittenTest, RefusesWhatItCantRun) {
    const std::string text = entry(
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1}, [%rd1]; tex.1d.v4.f32.s32 {%f1}, "
        "[t, {%r1}]; add.u32 %r1, %r1, 1;"
        "tex.1d.v4.f32.s32 {%f1}, [t, {%r1}];");
    const std::string_view view = text;
    const auto module = Module::load(std::span(&view, 1));
    try {
        module->kernel("k");
        FAIL() << "not refused";
    } catch (const Unsupported& refusal) {
        EXPECT_THAT(
            refusal.instructions(),
            ElementsAre("wmma.load.a.sync.aligned.row.m16n16k16.global.f16", "tex.1d.v4.f32.s32"));
    }
    EXPECT_THAT(error_of(text), HasSubstr("tex.1d"));
}

TEST(WrittenTest, NamesWhatIsWrong) {
    EXPECT_THAT(error_of(entry("add.u32 %r1, %r2, %rd1;")), HasSubstr("another size"));
    EXPECT_THAT(error_of(entry("bra nowhere;")), HasSubstr("nowhere"));
    EXPECT_THAT(error_of(entry("add.u32 %r1, %r2")), HasSubstr("PTX line"));
    EXPECT_THAT(error_of(entry("call.uni nobody;")), HasSubstr("nobody"));
    EXPECT_THAT(error_of(entry("mov.u64 %rd2, nothing;")), HasSubstr("nothing"));
    EXPECT_THAT(error_of(entry("ld.param.u64 %rd2, [out+8];")),
                HasSubstr("outside the parameters"));
    EXPECT_THAT(error_of("hello"), HasSubstr("hello"));
    EXPECT_THAT(error_of(".version 8.0\n.entry k() {"), HasSubstr("never closed"));
}

TEST(WrittenTest, ReportsFaults) {
    const auto fault = [](FaultKind kind, const std::string& body) {
        const std::string text = entry(body);
        Machine machine(text);
        return fault_of(machine, kind, "k", {{1}, {40}},
                        machine.upload(std::vector<std::uint32_t>(40)));
    };
    const std::string outside = fault(FaultKind::illegal_address, "st.global.u32 [%rd0+16], %r0;");
    EXPECT_THAT(outside, HasSubstr("thread (36, 0, 0)"));
    EXPECT_THAT(outside, HasSubstr("writes 4 bytes"));
    EXPECT_THAT(outside, HasSubstr("PTX line 9"));
    EXPECT_THAT(fault(FaultKind::misaligned_address, "ld.global.u32 %r1, [%rd0+2];"),
                HasSubstr("thread (0, 0, 0)"));
    EXPECT_THAT(fault(FaultKind::illegal_address, "mov.u64 %rd2, 0; ld.u32 %r1, [%rd2];"),
                HasSubstr("0x0"));
    EXPECT_THAT(fault(FaultKind::illegal_address, "ld.shared.u32 %r1, [%r0];"),
                HasSubstr("shared"));
    EXPECT_THAT(fault(FaultKind::trap, "setp.eq.u32 %p1, %r0, 33; @%p1 trap;"),
                HasSubstr("thread (33, 0, 0)"));
    EXPECT_THAT(fault(FaultKind::deadlock,
                      "setp.eq.u32 %p1, %r0, 3; @%p1 bra o; bar.sync 0; bra e; o: bar.sync 1; e:"),
                HasSubstr("barrier 1"));
    EXPECT_THAT(fault(FaultKind::illegal_instruction, "p: .callprototype _ (); call %rd1, (), p;"),
                HasSubstr("no function"));
}

TEST(WrittenTest, NestsCallsOnlySoDeep) {
    const std::string text = entry(
        "call.uni f, ();", ".func f() { .local .align 8 .b8 room[4096]; call.uni f, (); ret; }");
    Machine machine(text);
    EXPECT_THAT(fault_of(machine, FaultKind::stack_overflow, "k", {{1}, {1}},
                         machine.upload(std::vector<std::uint32_t>(1))),
                HasSubstr("too deep"));
}

TEST(WrittenTest, KnowsItsKernels) {
    const std::string text =
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry one(.param .u32 a, .param .u64 b, .param .align 16 .b8 c[20]) .maxntid "
        "128, 2, 1 .minnctapersm 3\n"
        "{ .shared .align 4 .b8 s[100]; .local .align 8 .b8 l[24]; ret; }\n"
        ".visible .entry two() .reqntid 32 { ret; }\n.const .align 4 .u32 t[3] = {1, 2, 3};";
    const std::string_view view = text;
    const auto module = Module::load(std::span(&view, 1));
    EXPECT_THAT(module->kernels(), ElementsAre("one", "two"));
    const KernelInfo& info = module->kernel_info("one");
    EXPECT_EQ(info.parameters[1].offset, 8u);
    EXPECT_EQ(info.parameters[2].offset, 16u);
    EXPECT_EQ(info.parameter_bytes, 36u);
    EXPECT_EQ(info.max_threads, 256u);
    EXPECT_EQ(info.min_blocks, 3u);
    EXPECT_EQ(info.static_shared_bytes, 100u);
    EXPECT_EQ(info.local_bytes, 24u);
    EXPECT_EQ(module->kernel_info("two").required_threads.x, 32u);
    ASSERT_EQ(module->variables().size(), 1u);
    EXPECT_TRUE(module->variables()[0].constant);
    EXPECT_EQ(module->variables()[0].bytes, 12u);
    EXPECT_THROW(module->kernel("three"), Error);
}

}  // namespace
}  // namespace vgpu::ptx::test
