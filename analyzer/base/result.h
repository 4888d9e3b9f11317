// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/check.h"
#include "analyzer/base/error.h"

#include <fmt/format.h>

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace gd::base {

// A value, or the reason why there is none. Member names are those of std::expected, which g++ 12 has only in
// C++23.
//
//     Result<Db> open(const std::string& path) {
//         GD_TRY_ASSIGN(auto db, Db::openReadOnly(path).context("opening trace {}", path));
//         GD_TRY(db.exec("..."));
//         return db;
//     }
//
// Reading the value of a failed result, or the error of a good one, is a bug and aborts.
// NOLINTBEGIN(readability-identifier-naming): names of std::expected
template <class T> class [[nodiscard]] Result {
public:
    using value_type = T;

    template <class U>
    static constexpr bool kIsValue
        = std::is_constructible_v<T,
              U&&> && !std::is_same_v<std::remove_cvref_t<U>, Result> && !std::is_same_v<std::remove_cvref_t<U>, Error>;

    template <class U = T>
    requires kIsValue<U> Result(
        U&& value) // NOLINT(bugprone-forwarding-reference-overload): kIsValue leaves copies and moves alone
        : m_state(std::in_place_index<0>, std::forward<U>(value)) { }
    Result(Error error)
        : m_state(std::in_place_index<1>, std::move(error)) { }

    bool has_value() const { return m_state.index() == 0; }
    explicit operator bool() const { return has_value(); }

    T& value() & { return checked(); }
    const T& value() const& { return const_cast<Result*>(this)->checked(); }
    T&& value() && { return std::move(checked()); }
    T& operator*() & { return checked(); }
    const T& operator*() const& { return const_cast<Result*>(this)->checked(); }
    T&& operator*() && { return std::move(checked()); }
    T* operator->() { return &checked(); }
    const T* operator->() const { return &const_cast<Result*>(this)->checked(); }

    template <class U> T value_or(U&& other) const& {
        return has_value() ? *std::get_if<0>(&m_state) : static_cast<T>(std::forward<U>(other));
    }

    const Error& error() const& {
        GD_CHECK(!has_value());
        return *std::get_if<1>(&m_state);
    }
    Error&& error() && {
        GD_CHECK(!has_value());
        return std::move(*std::get_if<1>(&m_state));
    }

    template <class F> auto and_then(F&& f) && -> std::invoke_result_t<F, T&&> {
        if (!has_value())
            return std::move(*this).error();
        return std::forward<F>(f)(std::move(checked()));
    }

    // Puts "text: " before the message of an error; a value passes unchanged.
    template <class... Args> Result context(fmt::format_string<Args...> text, Args&&... args) && {
        if (Error* error = std::get_if<1>(&m_state))
            error->message = fmt::format(text, std::forward<Args>(args)...) + ": " + error->message;
        return std::move(*this);
    }

private:
    T& checked() {
        T* value = std::get_if<0>(&m_state);
        GD_CHECK(value != nullptr);
        return *value;
    }

    std::variant<T, Error> m_state;
};

template <> class [[nodiscard]] Result<void> {
public:
    using value_type = void;

    Result() = default;
    Result(Error error)
        : m_error(std::move(error)) { }

    bool has_value() const { return !m_error.has_value(); }
    explicit operator bool() const { return has_value(); }
    void value() const { GD_CHECK(has_value()); }

    const Error& error() const& {
        GD_CHECK(m_error.has_value());
        return *m_error;
    }
    Error&& error() && {
        GD_CHECK(m_error.has_value());
        return std::move(*m_error);
    }

    template <class... Args> Result context(fmt::format_string<Args...> text, Args&&... args) && {
        if (m_error)
            m_error->message = fmt::format(text, std::forward<Args>(args)...) + ": " + m_error->message;
        return std::move(*this);
    }

private:
    std::optional<Error> m_error;
};
// NOLINTEND(readability-identifier-naming)

// A format text that also notes where it was written: a defaulted argument cannot follow a parameter pack.
template <class... Args> struct LocatedFormat {
    fmt::format_string<Args...> text;
    SourceLocation where;

    template <class Text>
    consteval LocatedFormat(const Text& format, SourceLocation location = SourceLocation::current())
        : text(format)
        , where(location) { }
};

// Builds an Error from a format: `return fail(ErrorCode::badInput, "{}:{}: expected …", file, line);`
template <class... Args>
[[nodiscard]] Error fail(
    ErrorCode code, LocatedFormat<std::type_identity_t<Args>...> format, Args&&... args) {
    return Error(code, fmt::format(format.text, std::forward<Args>(args)...), format.where);
}

} // namespace gd::base

namespace gd {
using base::fail;
using base::Result;
} // namespace gd

#define GD_CONCAT_INNER(a, b) a##b
#define GD_CONCAT(a, b) GD_CONCAT_INNER(a, b)

// Returns the error of `expression` from the calling function, if it has one.
#define GD_TRY(expression)                                                                                   \
    do {                                                                                                     \
        if (auto gdTryResult = (expression); !gdTryResult)                                                   \
            return std::move(gdTryResult).error();                                                           \
    } while (false)

// GD_TRY_ASSIGN(auto x, f()): x takes the value of f(), or the calling function returns its error.
#define GD_TRY_ASSIGN(target, ...) GD_TRY_ASSIGN_NAMED(GD_CONCAT(gdTryResult, __LINE__), target, __VA_ARGS__)
#define GD_TRY_ASSIGN_NAMED(result, target, ...)                                                             \
    auto result = (__VA_ARGS__);                                                                             \
    if (!result)                                                                                             \
        return std::move(result).error();                                                                    \
    target = std::move(result).value()
