// The report's style sheet and its small script, as text: the report is one file without network.
#pragma once

namespace rondo::bench {

extern const char* const report_style;
extern const char* const report_script;

}  // namespace rondo::bench
