// `bench reporting`: a search over ten million payments, the summaries of a day, and whether their sums are right.
import { type Database, systemClock } from '../../../packages/server/src/platform/index.ts';
import { createReportQueryRunner } from '../../../packages/server/src/reporting/infrastructure/query-limits.ts';
import { parsePaymentSearch } from '../../../packages/server/src/reporting/search/parse-search-filters.ts';
import { createPaymentClassCache } from '../../../packages/server/src/reporting/search/payment-class-cache.ts';
import {
  scanLimitMax,
  scanPayments,
} from '../../../packages/server/src/reporting/search/scan-payments.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { createProgress, openPlatform } from '../environment/platform.ts';
import {
  createClient,
  createOrganization,
  fetchClientToken,
  openProvisioning,
  withIdentity,
} from '../environment/provision-in-database.ts';
import { type ApiClient, createApiClient } from '../environment/send-single-request.ts';
import type { BenchResult } from '../report/report.ts';
import { perSecond } from '../report/report-table.ts';
import type { LoadRequest } from '../sales/fixed-rate-load.ts';
import { openHttpsConnections } from '../sales/https-connections.ts';
import { describeStep, type PrintLine, runMeasuredStep } from '../sales/measured-step.ts';
import { createRandom } from '../sales/request-schedule.ts';
import { days } from './payment-mix.ts';
import { measureExport } from './reporting-export.ts';
import { fillReports } from './reporting-fill.ts';
import { createReportRequests } from './reporting-queries.ts';
import { type ReportFigures, reportReporting } from './reporting-report.ts';

const summaryNames = [
  'day',
  'hour',
  'merchant',
  'store',
  'device',
  'scheme',
  'responseCategory',
] as const;

const warmUpSeconds = 3;
const dayMs = 86_400_000;
const scannedRows = 200_000;
const realm = 'reports';

type Reports = { api: ApiClient; database: Database; organizationId: string };

type Sums = { authorized: string; captured: string; refunded: string; cancelled: string };

/** Compares the summary of all days with a scan over every payment. */
async function wrongSums({ api, database, organizationId }: Reports): Promise<string[]> {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const span = `from=${day(Date.now() - (days + 2) * dayMs)}&to=${day(Date.now() + dayMs)}`;
  const summary = await api.call('GET', `/reporting/v1/summary?${span}&groupBy=scheme`);
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
async function scanSpeed({ database, organizationId }: Reports): Promise<number> {
  const queries = createReportQueryRunner(database);
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

/** A platform whose reports are filled before the server starts, and a token for them. */
async function openReports(closers: CloseStack, options: BenchOptions, printLine: PrintLine) {
  const platform = await openPlatform(closers, options);
  const { database, postgresPid } = platform;
  const organizationId = await createOrganization(openProvisioning(platform), 'Reports');
  const credentials = await withIdentity(platform, async (identity) => {
    await identity.createUserDomain({ userDomainId: realm, organizationId });
    return createClient(identity, { organizationId, realm }, 'AcquirerAdministrator');
  });
  const progress = createProgress(printLine);
  const { rows } = options;
  await fillReports(database, { organizationId, rows, onProgress: progress.report });
  const fillSeconds = progress.seconds();
  printLine(`${rows.toLocaleString('en')} payments filled in ${fillSeconds.toFixed(0)} s`);
  const server = await platform.startServer();
  const token = await fetchClientToken(server.target, realm, credentials);
  const connections = await openHttpsConnections(server.target, options.connections);
  closers.add(async () => connections.close());
  const watched = { server: server.pid, postgres: postgresPid };
  const reports = { api: createApiClient(server.target, token), database, organizationId };
  return { server, token, fillSeconds, connections, watched, reports };
}

export async function benchReporting(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<BenchResult> {
  const environment = await openReports(closers, options, printLine);
  const { server, token, connections, watched, reports, fillSeconds } = environment;
  const { rows, seed, seconds, rate: ratePerSecond } = options;
  const random = createRandom(seed);
  const requests = createReportRequests({
    authority: server.target.authority,
    token,
    rows,
    random,
  });
  const measure = (length: number, request: () => LoadRequest) =>
    runMeasuredStep(connections, watched, { ratePerSecond, seconds: length, random, request });
  await measure(warmUpSeconds, requests.search);
  const before = requests.pages();
  const search = await measure(seconds, requests.search);
  const after = requests.pages();
  printLine(describeStep('search, any two filters', search));
  const summaries: ReportFigures['summaries'] = [];
  for (const name of summaryNames) {
    const request = () => requests.summary(name);
    await measure(1, request);
    const step = await measure(Math.max(2, Math.ceil(seconds / summaryNames.length)), request);
    printLine(describeStep(`a day by ${name}`, step));
    summaries.push({ name, step });
  }
  const wrong = await wrongSums(reports);
  const scanRowsPerSecond = await scanSpeed(reports);
  printLine(`scan ${perSecond(scanRowsPerSecond)}`);
  const exported = await measureExport(reports.api, server.pid, rows);
  printLine(`export ${perSecond(exported.rowsPerSecond)}`);
  const figures = {
    rows,
    fillSeconds,
    search,
    summaries,
    scanRowsPerSecond,
    exported,
    pages: { whole: after.whole - before.whole, incomplete: after.incomplete - before.incomplete },
    wrongSums: wrong,
    residentHighestMib: server.memory.highest(),
  };
  return reportReporting(figures, options);
}
