// `bench reporting`: a search over ten million payments, the summaries of a day, and whether their sums are right.

import { systemClock } from '../../../packages/server/src/platform/index.ts';
import { createReportQueries } from '../../../packages/server/src/reporting/infrastructure/query-limits.ts';
import { parsePaymentSearch } from '../../../packages/server/src/reporting/search/parse-search-filters.ts';
import { createPaymentClassCache } from '../../../packages/server/src/reporting/search/payment-class-cache.ts';
import {
  scanLimitMax,
  scanPayments,
} from '../../../packages/server/src/reporting/search/scan-payments.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import type { EstateQuery } from '../estate/estate-queries.ts';
import { type CpuTimes, readCpu } from '../report/process-times.ts';
import { milliseconds, perSecond } from '../report/report-table.ts';
import { runStep, type StepResult } from '../sales/fixed-rate-load.ts';
import type { PrintLine } from '../sales/knee-run.ts';
import { costBetween } from '../sales/load-client.ts';
import { createRandom } from '../sales/request-schedule.ts';
import { openReportingEnvironment, type ReportingEnvironment } from './reporting-environment.ts';
import { type ExportFigures, measureExport } from './reporting-export.ts';
import { days } from './reporting-plan.ts';
import { createReportRequests } from './reporting-queries.ts';

export type ReportStep = StepResult & ReturnType<typeof costBetween>;

export const summaryNames = [
  'day',
  'hour',
  'merchant',
  'store',
  'device',
  'scheme',
  'responseCategory',
] as const;

export type ReportFigures = {
  readonly rows: number;
  readonly fillSeconds: number;
  readonly search: ReportStep;
  /** Pages that were full or the last, and pages that were short and led on. */
  readonly pages: { readonly whole: number; readonly incomplete: number };
  readonly summaries: readonly { readonly name: string; readonly step: ReportStep }[];
  /** Currencies whose sums are not those of a scan over all payments. */
  readonly wrongSums: readonly string[];
  readonly scanRowsPerSecond: number;
  readonly exported: ExportFigures;
  readonly residentHighestMib: number;
};

const warmUpSeconds = 3;
const dayMs = 86_400_000;
const scannedRows = 200_000;

/** Questions at a rate, with what each of them has cost. */
async function measure(
  scene: ReportingEnvironment,
  {
    ratePerSecond,
    seconds,
    random,
  }: { ratePerSecond: number; seconds: number; random: () => number },
  request: () => EstateQuery,
): Promise<ReportStep> {
  const watched = {
    server: scene.server.pid,
    postgres: scene.postgresPid(),
    simulator: 0,
    load: process.pid,
  };
  const windows: Partial<Record<'begin' | 'end', { cpu: CpuTimes; answered: number }>> = {};
  const result = await runStep(scene.exchange, {
    ratePerSecond,
    seconds,
    random,
    request,
    onWindow(at, answered) {
      windows[at] = { cpu: readCpu(watched), answered };
    },
  });
  return { ...result, ...costBetween(windows.begin, windows.end) };
}

function describe(name: string, step: StepResult): string {
  const errors = Object.entries(step.errors).map(([kind, count]) => `${count} × ${kind}`);
  const times = `p50 ${milliseconds(step.p50Us)}  p99 ${milliseconds(step.p99Us)}`;
  return [name.padEnd(28), times, ...errors].join('  ');
}

type Sums = { authorized: string; captured: string; refunded: string; cancelled: string };

/** What the summary of all days says, against a scan over every payment. */
async function wrongSums({
  caller,
  database,
  organizationId,
}: ReportingEnvironment): Promise<string[]> {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const span = `from=${day(Date.now() - (days + 2) * dayMs)}&to=${day(Date.now() + dayMs)}`;
  const summary = await caller.call('GET', `/reporting/v1/summary?${span}&groupBy=scheme`);
  const { amounts } = summary['total'] as { amounts: (Sums & { currency: string })[] };
  const rows = await database.session(({ query }) =>
    query(
      `SELECT g.currency, sum(p.authorized)::text AS authorized, sum(p.captured)::text AS captured,
         sum(p.refunded)::text AS refunded, sum(p.cancelled)::text AS cancelled
       FROM report_payments p
       JOIN report_classes c ON c.organization_id = p.organization_id AND c.class_id = p.class_id
       JOIN report_groups g ON g.organization_id = c.organization_id AND g.group_id = c.group_id
       WHERE p.organization_id = $1 GROUP BY 1 ORDER BY 1`,
      [organizationId],
    ),
  );
  const text = (sums: Sums) =>
    [sums.authorized, sums.captured, sums.refunded, sums.cancelled].join(' ');
  return rows
    .filter((row) => {
      const reported = amounts.find(({ currency }) => currency === row['currency']);
      return reported === undefined || text(reported) !== text(row as unknown as Sums);
    })
    .map((row) => String(row['currency']));
}

/** As an export reads them: part by part, the oldest first. */
async function scanSpeed({ database, organizationId }: ReportingEnvironment): Promise<number> {
  const queries = createReportQueries(database);
  const classes = createPaymentClassCache(systemClock);
  const entityFilter = { merchantId: undefined, storeId: undefined, deviceId: undefined };
  const search = parsePaymentSearch({ organizationId, ...entityFilter }, {});
  const began = performance.now();
  let rows = 0;
  let after: string | undefined;
  do {
    const part = { after, limit: scanLimitMax };
    const page = await queries.run((run) => scanPayments(run, classes, search, part));
    rows += page.rows.length;
    after = page.next;
  } while (after !== undefined && rows < scannedRows);
  return (rows * 1000) / (performance.now() - began);
}

export async function benchReporting(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<ReportFigures> {
  const scene = await openReportingEnvironment(closers, options, printLine);
  const { server, token } = scene;
  const { rows, seed, seconds, rate: ratePerSecond } = options;
  const random = createRandom(seed);
  const requests = createReportRequests({ authority: server.authority, token, rows, random });
  const load = { ratePerSecond, seconds, random };
  await measure(scene, { ...load, seconds: warmUpSeconds }, requests.search);
  const before = requests.pages();
  const search = await measure(scene, load, requests.search);
  const after = requests.pages();
  printLine(describe('search, any two filters', search));
  const summaries: { name: string; step: ReportStep }[] = [];
  for (const name of summaryNames) {
    const request = () => requests.summary(name);
    const summaryLoad = { ...load, seconds: Math.max(2, Math.ceil(seconds / summaryNames.length)) };
    await measure(scene, { ...load, seconds: 1 }, request);
    const step = await measure(scene, summaryLoad, request);
    printLine(describe(`a day by ${name}`, step));
    summaries.push({ name, step });
  }
  const wrong = await wrongSums(scene);
  const scanRowsPerSecond = await scanSpeed(scene);
  printLine(`scan ${perSecond(scanRowsPerSecond)}`);
  const exported = await measureExport(scene, rows);
  printLine(`export ${perSecond(exported.rowsPerSecond)}`);
  return {
    rows,
    fillSeconds: scene.fillSeconds,
    search,
    summaries,
    scanRowsPerSecond,
    exported,
    pages: { whole: after.whole - before.whole, incomplete: after.incomplete - before.incomplete },
    wrongSums: wrong,
    residentHighestMib: scene.memory.highest(),
  };
}
