// The style of the report page, for screen and print, with a light and a dark theme.

export const reportStyle = `
:root { font-size: 15px; color-scheme: light dark; --text: #1c2430; --soft: #596273; --line: #d5dae2; --back: #fff; --area: #f4f6f9;
  --good: #1b6b3a; --bad: #a61b29; --other: #6b5200; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e8ee; --soft: #a3adbb; --line: #3a4350; --back: #14181e; --area: #1d232b;
    --good: #6fcf97; --bad: #ff8a8a; --other: #e0be62; }
}
* { box-sizing: border-box; }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1.25rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 1rem; }
h2 { font-size: 1.25rem; margin: 2.25rem 0 .75rem; }
h3 { font-size: 1.05rem; margin: 0 0 .25rem; }
h3 span:not(.result) { font-weight: 400; }
h4 { font-size: .95rem; margin: 1rem 0 .25rem; }
a { color: inherit; }
p { margin: .25rem 0; }
.note, dt, caption span, summary { color: var(--soft); }
.totals { display: flex; flex-wrap: wrap; gap: .75rem; margin-bottom: 1.25rem; }
.totals div { border: 1px solid var(--line); border-radius: 6px; padding: .5rem 1rem; background: var(--area); }
.totals b { font-size: 1.4rem; margin-right: .25rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.25rem; margin: 0 0 1rem; }
dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: .85rem; }
th, td { padding: .2rem .9rem .2rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
caption { text-align: left; padding: .25rem 0; }
.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.value, .bytes { font-family: ui-monospace, monospace; font-size: .85rem; overflow-wrap: anywhere; }
.message { table-layout: fixed; }
.message th:nth-child(1) { width: 4.2rem; }
.message th:nth-child(2) { width: 4.2rem; }
.message th:nth-child(3) { width: 27%; }
.message th:nth-child(4) { width: 26%; }
.bytes { color: var(--soft); }
.case { border-top: 2px solid var(--line); padding: .9rem 0; }
.differences td:first-child, .failed { color: var(--bad); }
.passed { color: var(--good); }
.skipped, .notrun { color: var(--other); }
.result { font-weight: 600; font-size: .85rem; white-space: nowrap; }
summary { cursor: pointer; }
@media print {
  :root { font-size: 9px; color-scheme: light; --text: #000; --soft: #444; --line: #bbb; --back: #fff; --area: #fff;
    --good: #1b6b3a; --bad: #a61b29; --other: #6b5200; }
  body { max-width: none; margin: 0; padding: 0; }
  h3, h4, caption, thead { break-after: avoid; }
  tr { break-inside: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
`;
