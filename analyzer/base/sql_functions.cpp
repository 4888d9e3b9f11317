// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/sql_functions.h"

#include "analyzer/base/counted.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <string>
#include <vector>

namespace gd::base {
namespace {

struct Values {
    std::vector<double>* numbers = nullptr; // the aggregate's memory starts zeroed and is not constructed
    double percent = 0;
    bool failed = false;
};

void failWith(sqlite3_context* context, Values* values, const char* message) {
    values->failed = true;
    sqlite3_result_error(context, message, -1);
}

void collect(sqlite3_context* context, sqlite3_value* x, double percent) noexcept {
    auto* values = static_cast<Values*>(sqlite3_aggregate_context(context, sizeof(Values)));
    if (values == nullptr)
        return sqlite3_result_error_nomem(context);
    if (values->failed)
        return;
    if (!(percent >= 0 && percent <= 100))
        return failWith(context, values, "percentile(x, p): p must be a number from 0 to 100");
    if (values->numbers != nullptr && values->percent != percent)
        return failWith(context, values, "percentile(x, p): p must be the same in every row");
    const int type = sqlite3_value_numeric_type(x);
    if (type != SQLITE_NULL && type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return failWith(context, values, "percentile(x, p): x must be a number or NULL");
    try {
        if (values->numbers == nullptr)
            values->numbers = new std::vector<double>;
        values->percent = percent;
        if (type != SQLITE_NULL)
            values->numbers->push_back(sqlite3_value_double(x));
    } catch (...) {
        values->failed = true;
        sqlite3_result_error_nomem(context);
    }
}

void percentileStep(sqlite3_context* context, int, sqlite3_value** arguments) {
    const int type = sqlite3_value_numeric_type(arguments[1]);
    const bool number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    collect(context, arguments[0], number ? sqlite3_value_double(arguments[1]) : -1.0);
}

void medianStep(sqlite3_context* context, int, sqlite3_value** arguments) {
    collect(context, arguments[0], 50.0);
}

// Linear interpolation between the two neighbours, as in SQLite's own percentile extension.
void finish(sqlite3_context* context) {
    auto* values = static_cast<Values*>(sqlite3_aggregate_context(context, 0));
    if (values == nullptr || values->numbers == nullptr)
        return;
    std::vector<double>& numbers = *values->numbers;
    if (!numbers.empty() && !values->failed) {
        const double place = static_cast<double>(numbers.size() - 1) * values->percent / 100.0;
        const auto below = static_cast<std::size_t>(std::floor(place));
        const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(below);
        std::nth_element(numbers.begin(), at, numbers.end());
        double result = *at;
        if (const double part = place - static_cast<double>(below); part > 0)
            result += part * (*std::min_element(at + 1, numbers.end()) - result);
        sqlite3_result_double(context, result);
    }
    delete values->numbers;
    values->numbers = nullptr;
}

// counted(n, noun): NULL for anything but a whole number and a text.
void countedNoun(sqlite3_context* context, int, sqlite3_value** arguments) noexcept {
    if (sqlite3_value_numeric_type(arguments[0]) != SQLITE_INTEGER
        || sqlite3_value_type(arguments[1]) != SQLITE_TEXT)
        return sqlite3_result_null(context);
    try {
        const auto* noun = reinterpret_cast<const char*>(sqlite3_value_text(arguments[1]));
        const auto bytes = static_cast<std::size_t>(sqlite3_value_bytes(arguments[1]));
        const std::string text = counted(sqlite3_value_int64(arguments[0]), {noun, bytes});
        sqlite3_result_text(context, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    } catch (...) {
        sqlite3_result_error_nomem(context);
    }
}

} // namespace

int registerSqlFunctions(sqlite3* db) {
    // Innocuous: views of a foreign trace may call them although trusted_schema is off.
    constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    int status = sqlite3_create_function_v2(
        db, "percentile", 2, kFlags, nullptr, nullptr, percentileStep, finish, nullptr);
    if (status != SQLITE_OK)
        return status;
    status
        = sqlite3_create_function_v2(db, "median", 1, kFlags, nullptr, nullptr, medianStep, finish, nullptr);
    if (status != SQLITE_OK)
        return status;
    return sqlite3_create_function_v2(
        db, "counted", 2, kFlags, nullptr, countedNoun, nullptr, nullptr, nullptr);
}

} // namespace gd::base
