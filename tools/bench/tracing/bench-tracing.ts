// Measures what tracing adds to one sale: its spans and their export, without the sale itself.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defined } from '@switchyard/contract';
import {
  createLog,
  createMetrics,
  createShardedGroupCommit,
  createTracer,
  endSpan,
  readSettings,
  startChildSpan,
  type Tracer,
} from '../../../packages/server/src/platform/index.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { makeFolder } from '../environment/platform.ts';
import type { BenchResult } from '../report/report.ts';
import { figure } from '../report/report-table.ts';
import { targets } from '../report/targets.ts';
import type { PrintLine } from '../sales/measured-step.ts';

const concurrentSales = 16;
const warmUpShare = 0.2;
const name = 'POST /payment/v1/transactions/process';
const identifier = '01987654-1234-7123-8123-123456789012';

/** Commits without a database: the batches are those of the platform. */
function createCommits() {
  let sales = 0;
  const commits = createShardedGroupCommit<number, undefined>({
    name: 'payments-sale',
    database: {
      shards: async () => undefined,
      loadedShards: () => undefined,
      queryWorkers: async () => [],
    },
    bucketOf: () => 0,
    key: String,
    run: async (rows) => rows.map(() => undefined),
  });
  return { ...commits, nextSale: () => (sales += 1) };
}

/** The calls that a sale makes: its request, the intent, the exchange with the acquirer, the outcome. */
async function traceSale(
  tracer: Tracer | undefined,
  commits: ReturnType<typeof createCommits>,
): Promise<void> {
  const request = { traceparent: undefined, isAuthenticated: true, elapsedMs: 0.2 };
  const span = tracer?.startRequest(request, name, {
    'http.request.method': 'POST',
    'http.route': '/payment/v1/transactions/process',
    'switchyard.operation_id': 'processTransaction',
  });
  const sale = commits.nextSale();
  await commits.submit(sale, span);
  if (span !== undefined) {
    const exchange = startChildSpan(span, 'acquirer Sale', 'client', {
      'switchyard.message.kind': 'Sale',
      'switchyard.acquirer_link_id': identifier,
      'switchyard.transaction_id': identifier,
    });
    endSpan(exchange, { 'switchyard.outcome': 'Approved', 'switchyard.response_code': '00' });
  }
  await commits.submit(sale, span);
  if (span !== undefined) endSpan(span, { 'http.response.status_code': 200 });
}

/** CPU time of the process for one sale, in µs; the collector runs in the same process. */
async function measure(tracer: Tracer | undefined, forMs: number): Promise<number> {
  const commits = createCommits();
  const cpu = process.cpuUsage();
  const endMs = performance.now() + forMs;
  let sales = 0;
  while (performance.now() < endMs) {
    await Promise.all(Array.from({ length: concurrentSales }, () => traceSale(tracer, commits)));
    sales += concurrentSales;
  }
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / sales;
}

async function startCollector(closers: CloseStack): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.add(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function benchTracing(
  closers: CloseStack,
  { seconds, keepsFolder }: BenchOptions,
  printLine: PrintLine,
): Promise<BenchResult> {
  const dataDir = makeFolder(closers, keepsFolder);
  const endpoint = await startCollector(closers);
  const addedUs: Record<string, number> = {};
  let untracedUs = Number.NaN;
  for (const ratio of [undefined, '0', '0.01', '1']) {
    const settings = readSettings({
      SWITCHYARD_DATA_DIR: dataDir,
      OTEL_TRACES_SAMPLER: 'traceidratio',
      ...defined({
        OTEL_EXPORTER_OTLP_ENDPOINT: ratio === undefined ? undefined : endpoint,
        OTEL_TRACES_SAMPLER_ARG: ratio,
      }),
    });
    const log = createLog({ logLevel: 'silent', instanceName: 'bench' });
    const tracer = createTracer({ settings, log, metrics: createMetrics() });
    await measure(tracer, seconds * 1000 * warmUpShare);
    const us = await measure(tracer, seconds * 1000);
    await tracer?.stop();
    printLine(`${ratio ?? 'off'}: ${us.toFixed(2)} µs of CPU time for each sale`);
    if (ratio === undefined) untracedUs = us;
    else addedUs[ratio] = us - untracedUs;
  }
  const share = (ratio: string) => (addedUs[ratio] ?? Number.NaN) / targets.serverCpuUs;
  const percentWithDigits = (value: number) => `${(value * 100).toFixed(2)} %`;
  return {
    figures: { untracedUs, addedUs, seconds },
    sections: [
      {
        title: `CPU time that tracing adds to a sale, of ${targets.serverCpuUs} µs`,
        figures: [
          figure('no request sampled', share('0'), percentWithDigits),
          figure('1 % sampled', share('0.01'), percentWithDigits, {
            atMost: targets.tracing.shareOfSale,
          }),
          figure('all sampled', share('1'), percentWithDigits),
        ],
      },
    ],
    notes: [
      `each for ${seconds} s; without tracing the same calls take ${untracedUs.toFixed(2)} µs`,
      'the collector runs in the same process, and its CPU time counts',
    ],
  };
}
