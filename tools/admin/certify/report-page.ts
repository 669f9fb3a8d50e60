// The report of a certification run as one HTML page, without scripts and files from elsewhere.
import type { ReportedMessage } from './message-log.ts';
import type { CaseReport, Report } from './report-document.ts';
import { reportStyle } from './report-style.ts';
import type { CaseResult, StepResult } from './run-case.ts';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};
const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (each) => entities[each] ?? '');

/** Text that is HTML already. */
type Markup = { readonly markup: string };

/** Escapes the values of a template. */
function html(
  texts: TemplateStringsArray,
  ...values: readonly (string | number | Markup)[]
): Markup {
  const parts = values.map((value, index) => {
    const text = typeof value === 'object' ? value.markup : escapeHtml(String(value));
    return text + (texts[index + 1] ?? '');
  });
  return { markup: (texts[0] ?? '') + parts.join('') };
}

const join = (parts: readonly Markup[]): Markup => ({
  markup: parts.map(({ markup }) => markup).join(''),
});
const nothing: Markup = { markup: '' };
const msPerSecond = 1000;

const resultWords = { Passed: 'passed', Failed: 'failed', Skipped: 'skipped', NotRun: 'not run' };
type ResultName = keyof typeof resultWords;

const badge = (result: ResultName) =>
  html`<span class="result ${result.toLowerCase()}">${resultWords[result]}</span>`;

const formatDuration = (ms: number) =>
  ms < msPerSecond ? `${ms} ms` : `${(ms / msPerSecond).toFixed(1)} s`;

/** Pairs of digits, so that a long field can be broken into lines. */
const formatBytes = (bytes: string) => bytes.replace(/(..)(?=.)/g, '$1 ');

const formatTime = (at: string) => `${at.slice(11, 23)} UTC`;

const directionWords = { Sent: '→ to the host', Received: '← from the host' } as const;

function messageTable({ direction, at, mti, parts }: ReportedMessage): Markup {
  const rows = parts.map(
    ({ offset, field, name, value, bytes }) => html`
<tr><td class="number">${offset}</td><td class="number">${field}</td><td>${name}</td>
<td class="value">${value}</td><td class="bytes">${formatBytes(bytes)}</td></tr>`,
  );
  return html`
<table class="message"><caption><b>${mti}</b> ${directionWords[direction]} <span>${formatTime(at)}</span></caption>
<thead><tr><th>Offset</th><th>Field</th><th>Name</th><th>Value</th><th>Bytes</th></tr></thead>
<tbody>${join(rows)}</tbody></table>`;
}

function differenceTable({ differences }: StepResult): Markup {
  if (differences.length === 0) return nothing;
  const rows = differences.map(
    ({ where, expected, received }) =>
      html`<tr><td>${where}</td><td class="value">${expected}</td><td class="value">${received}</td></tr>`,
  );
  return html`
<table class="differences"><thead><tr><th>Differs</th><th>Expected</th><th>Received</th></tr></thead>
<tbody>${join(rows)}</tbody></table>`;
}

function stepSection(step: StepResult, index: number): Markup {
  const { action, expected, outcome = '', result, messages } = step;
  return html`
<section class="step"><h4>${index + 1}. ${action} ${badge(result)}</h4>
<p>Expected: ${expected === '' ? 'no condition' : expected}.${outcome === '' ? '' : ` Result: ${outcome}.`}</p>
${differenceTable(step)}${join(messages.map(messageTable))}</section>`;
}

const hasSteps = (each: CaseReport): each is CaseResult => 'steps' in each;

function caseSection(each: CaseReport): Markup {
  const { id, title, result } = each;
  const heading = html`<h3>${id} <span>${title}</span> ${badge(result)}</h3>`;
  if (!hasSteps(each)) return html`<section class="case" id="${id}">${heading}</section>`;
  const { reason, steps, durationMs, startedAt } = each;
  if (reason !== undefined)
    return html`<section class="case" id="${id}">${heading}<p>Skipped: ${reason}.</p></section>`;
  const open = result === 'Failed' ? { markup: ' open' } : nothing;
  return html`
<section class="case" id="${id}">${heading}
<details${open}><summary>${steps.length} ${steps.length === 1 ? 'step' : 'steps'}, ${formatTime(startedAt)}, ${formatDuration(durationMs)}</summary>
${join(steps.map(stepSection))}</details></section>`;
}

function firstDifference(each: CaseReport): string {
  if (!hasSteps(each)) return '';
  if (each.reason !== undefined) return each.reason;
  const [difference] = each.steps.flatMap(({ differences }) => differences);
  if (difference === undefined) return '';
  const { where, expected, received } = difference;
  return `${where}: expected ${expected}, received ${received}`;
}

function summaryTable(cases: readonly CaseReport[]): Markup {
  const rows = cases.map(
    (each) => html`
<tr><td><a href="#${each.id}">${each.id}</a></td><td>${each.title}</td><td>${badge(each.result)}</td>
<td>${firstDifference(each)}</td></tr>`,
  );
  return html`
<table class="summary"><thead><tr><th>Case</th><th>Title</th><th>Result</th><th>Reason</th></tr></thead>
<tbody>${join(rows)}</tbody></table>`;
}

function head({ plan, link, hostTable, software, startedAt, finishedAt, durationMs }: Report) {
  const { name, id, host, port, tls, institutionId } = link;
  const facts: readonly (readonly [string, string])[] = [
    ['Plan', plan.name],
    ['SHA-256 of the plan', plan.sha256],
    ['Acquirer link', `${name} (${id})`],
    ['Host', `${host}:${port}${tls ? ', TLS' : ', without TLS'}`],
    ['Institution (field 32)', institutionId],
    ['Host table', hostTable.name],
    ['SHA-256 of the table', hostTable.sha256],
    ['Software', software],
    ['Started', startedAt],
    ['Finished', finishedAt],
    ['Time of all cases', formatDuration(durationMs)],
  ];
  return html`<dl>${join(facts.map(([term, value]) => html`<dt>${term}</dt><dd>${value}</dd>`))}</dl>`;
}

function totals({ totals: { passed, failed, skipped, notRun } }: Report): Markup {
  const counts = { Passed: passed, Failed: failed, Skipped: skipped, NotRun: notRun };
  const boxes = (Object.keys(counts) as ResultName[]).map(
    (result) =>
      html`<div class="${result.toLowerCase()}"><b>${counts[result]}</b> ${resultWords[result]}</div>`,
  );
  return html`<div class="totals">${join(boxes)}</div>`;
}

/** @example const page = reportPage(report); */
export function reportPage(report: Report): string {
  const title = `Certification of ${report.link.name}`;
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><style>${{ markup: reportStyle }}</style></head>
<body>
<h1>${title}</h1>
${totals(report)}
${head(report)}
<p class="note">Card numbers, tracks, security codes, PIN blocks and new keys are masked in values and bytes. The file report.json.jws signs
report.json, and report.json contains the SHA-256 of this page. “switchyard audit verify --document report.json” checks both.</p>
<h2>Cases</h2>
${summaryTable(report.cases)}
<h2>Messages</h2>
${join(report.cases.map(caseSection))}
</body>
</html>
`.markup;
}
