// The report of a certification run: report.json, its detached signature, and report.html.
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CaseReport, Report, ReportHead, Totals } from './report-document.ts';
import { reportPage } from './report-page.ts';

export const reportFile = 'report.json';
const pageFile = 'report.html';

function countResults(cases: readonly CaseReport[]): Totals {
  const count = (result: CaseReport['result']) =>
    cases.filter((each) => each.result === result).length;
  return {
    passed: count('Passed'),
    failed: count('Failed'),
    skipped: count('Skipped'),
    notRun: count('NotRun'),
  };
}

/** @param sign returns the detached JWS of the bytes */
export function writeReport(
  directory: string,
  head: ReportHead,
  cases: readonly CaseReport[],
  sign: (document: Buffer) => string,
): Report {
  const report: Report = {
    format: 'switchyard-certification/1',
    ...head,
    totals: countResults(cases),
    cases,
  };
  const page = reportPage(report);
  const files = [{ name: pageFile, sha256: hash('sha256', page) }];
  const document = Buffer.from(`${JSON.stringify({ ...report, files }, undefined, 1)}\n`);
  writeFileSync(join(directory, pageFile), page);
  writeFileSync(join(directory, reportFile), document);
  writeFileSync(join(directory, `${reportFile}.jws`), `${sign(document)}\n`);
  return report;
}
