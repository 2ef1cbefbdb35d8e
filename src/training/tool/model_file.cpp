// See the header.
#include "training/tool/model_file.hpp"

#include <nlohmann/json.hpp>

namespace rondo::training::tool {

std::string model_json(const TrainingReport& report, const Table& data,
                       const Preparation& preparation) {
    nlohmann::ordered_json json;
    json["parameters"] = nlohmann::ordered_json::array();
    std::size_t offset = 0;
    for (const ParameterInfo& info : report.parameter_infos) {
        const auto begin = report.parameters.begin() + static_cast<std::ptrdiff_t>(offset);
        const std::vector<float> values(begin, begin + static_cast<std::ptrdiff_t>(info.size));
        json["parameters"].push_back({{"name", info.name}, {"values", values}});
        offset += info.size;
    }
    json["classes"] = data.class_names;
    json["feature_names"] = data.feature_names;
    json["feature_mean"] = preparation.features.mean;
    json["feature_deviation"] = preparation.features.deviation;
    json["target_mean"] = preparation.target.mean;
    json["target_deviation"] = preparation.target.deviation;
    // Names from a CSV file may be of any encoding.
    return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace rondo::training::tool
