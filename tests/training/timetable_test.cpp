// Timetables of pipelines.
#include "rondo/training/pipeline.hpp"
#include "tests/training/support.hpp"

namespace rondo::training::test {
namespace {

TEST(Timetable, CanBePrinted) {
    EXPECT_EQ(to_string(make_timetable(PipelineKind::gpipe, {0, 1}, 2)),
              "worker 0  F0  F1          B0  B1\n"
              "worker 1      F0  F1  B0  B1\n");
    EXPECT_EQ(to_string(make_timetable(PipelineKind::one_forward_one_backward, {0, 1}, 3)),
              "worker 0  F0  F1      B0  F2  B1      B2\n"
              "worker 1      F0  B0  F1  B1  F2  B2\n");
}

/// (S - 1) / M for S equal stages, both kinds.
TEST(Timetable, TheBubbleIsAsThePapersSay) {
    for (std::uint32_t stages = 1; stages <= 6; ++stages) {
        std::vector<std::uint32_t> workers;
        for (std::uint32_t s = 0; s < stages; ++s) workers.push_back(s);
        for (const std::uint32_t m : {1u, 2u, 6u, 7u, 16u}) {
            const double expected = (stages - 1.0) / m;
            EXPECT_DOUBLE_EQ(make_timetable(PipelineKind::gpipe, workers, m).bubble(), expected);
            if (m >= stages) {
                EXPECT_DOUBLE_EQ(
                    make_timetable(PipelineKind::one_forward_one_backward, workers, m).bubble(),
                    expected)
                    << stages << " " << m;
            }
        }
    }
}

TEST(Timetable, OneForwardOneBackwardKeepsFewActivations) {
    const std::vector<std::uint32_t> workers{0, 1, 2, 3};
    const auto gpipe = make_timetable(PipelineKind::gpipe, workers, 12);
    const auto other = make_timetable(PipelineKind::one_forward_one_backward, workers, 12);
    for (std::uint32_t s = 0; s < 4; ++s) {
        EXPECT_EQ(gpipe.most_in_flight(s), 12u);
        EXPECT_EQ(other.most_in_flight(s), 4 - s);
    }
}

/// Whatever the placement: every task once, after those that it needs.
TEST(Timetable, TasksComeAfterWhatTheyNeed) {
    for (const auto& workers : std::vector<std::vector<std::uint32_t>>{
             {0}, {0, 1, 0, 1}, {2, 1, 0}, {0, 1, 2, 1, 0, 2}, {0, 0, 1}}) {
        for (const PipelineKind kind :
             {PipelineKind::gpipe, PipelineKind::one_forward_one_backward}) {
            const auto table = make_timetable(kind, workers, 5);
            ASSERT_EQ(table.tasks.size(), 2 * workers.size() * 5);
            std::vector<std::uint32_t> forwards(workers.size()), backwards(workers.size());
            for (const PipelineTask& task : table.tasks) {
                EXPECT_EQ(task.worker, workers[task.segment]);
                auto& done = (task.backward ? backwards : forwards)[task.segment];
                EXPECT_EQ(task.micro_batch, done);
                ++done;
                if (!task.backward && task.segment > 0) {
                    EXPECT_GE(forwards[task.segment - 1], done);
                }
                if (task.backward) {
                    EXPECT_GE(forwards[task.segment], done);
                    if (task.segment + 1 < workers.size()) {
                        EXPECT_GE(backwards[task.segment + 1], done);
                    }
                }
            }
        }
    }
    expect_words(error_of<InvalidArgument>([] { make_timetable(PipelineKind::gpipe, {0}, 0); }),
                 {"0 micro-batches"});
}

}  // namespace
}  // namespace rondo::training::test
