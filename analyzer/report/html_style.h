// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace gd::report {

// The style sheet inside an HTML report. Colours repeat what the words say. No `<`, `>` or `&`: the page is
// well-formed XML, too.
inline constexpr std::string_view kHtmlStyle = R"css(
:root { color-scheme: light dark; --ink: #1c2127; --soft: #59636e; --paper: #ffffff; --panel: #f5f7f9;
  --line: #d5dae0; --error: #b3261e; --warning: #8a5a00; --info: #0b5cad; --good: #1a7f37; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --soft: #9aa4af; --paper: #14181c;
  --panel: #1d2329; --line: #37404a; --error: #ff8f85; --warning: #f0b95a; --info: #7ab8ff; --good: #6bd68a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .75rem; padding-bottom: .25rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
code { font: .875em/1.5 ui-monospace, monospace; }
a { color: var(--info); }
p { margin: .5rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .5rem 0; }
dt { color: var(--soft); }
dd { margin: 0; }
ol, ul { margin: .25rem 0; padding-left: 1.5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 600; }
tbody th { font-weight: 400; }
tr.group th { padding-top: 1rem; font-weight: 600; }
td.value { white-space: nowrap; }
.soft { color: var(--soft); }
.first { background: var(--panel); border-left: 4px solid var(--info); padding: .75rem 1rem; margin: 1rem 0; }
.finding { border: 1px solid var(--line); border-left-width: 4px; border-radius: 4px; margin: .75rem 0;
  padding: .5rem 1rem; background: var(--panel); }
.finding summary { cursor: pointer; font-weight: 600; }
.error { border-left-color: var(--error); }
.warning { border-left-color: var(--warning); }
.info { border-left-color: var(--info); }
.error .severity, .look { color: var(--error); font-weight: 600; }
.warning .severity { color: var(--warning); }
.info .severity { color: var(--info); }
.good { color: var(--good); }
@media print { body { max-width: none; } .finding { break-inside: avoid; } }
)css";

} // namespace gd::report
