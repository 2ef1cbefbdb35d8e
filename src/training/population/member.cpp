// See the header.
#include "training/population/member.hpp"

namespace rondo::training {

double live(Trainee& trainee, Member& member, const Generation& generation) {
    const TrainingOptions& options = *generation.options;
    OptimizerSettings settings = options.optimizer;
    for (std::size_t i = 0; i < member.settings.size(); ++i) {
        set_hyperparameter(settings, generation.hyperparameters[i], member.settings[i]);
    }
    trainee.set_parameters(member.parameters);
    trainee.change_optimizer(settings);
    trainee.set_optimizer_state(member.optimizer);
    double loss = 0;
    for (std::uint32_t e = 0; e < options.population.epochs_per_generation; ++e) {
        const std::uint64_t pass = generation.number * options.population.epochs_per_generation + e;
        loss = trainee.train_epoch(generation.samples,
                                   Random(options.seed, 0x9e0e + pass, generation.slot),
                                   options.population.steps_per_generation, 0);
    }
    member.parameters = trainee.parameters();
    member.optimizer = trainee.optimizer_state();
    return loss;
}

}  // namespace rondo::training
