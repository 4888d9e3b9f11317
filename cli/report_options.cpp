// SPDX-License-Identifier: Apache-2.0
#include "cli/report_options.h"

namespace gd::cli {

void addJudgeOptions(CLI::App& app, JudgeOptions& options) {
    app.add_option("--rules", options.ruleFolders, "also use the rules of this folder; may be repeated")
        ->type_name("DIR")
        ->allow_extra_args(false);
    app.add_option("--param", options.params,
           "set a rule's parameter, in all rules that have it or as GD301.NAME=VALUE; may be repeated")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
}

Result<report::Format> reportFormat(std::string_view word) {
    if (const auto format = report::formatFrom(word))
        return *format;
    return fail(ErrorCode::usage, "{} is no report format; the formats are {}", word, report::kFormatNames);
}

Result<std::vector<ReportWish>> parseReportWishes(const std::vector<std::string>& texts) {
    std::vector<ReportWish> out;
    for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        GD_TRY_ASSIGN(const report::Format format, reportFormat(text.substr(0, equals)));
        ReportWish wish{format, {}};
        if (equals != std::string::npos) {
            wish.file = text.substr(equals + 1);
            if (wish.file.empty())
                return fail(ErrorCode::usage, "--report {}: a file name is expected after =", text);
        }
        out.push_back(std::move(wish));
    }
    return out;
}

} // namespace gd::cli
