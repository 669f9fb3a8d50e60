// `bench webhooks`: events of sales are sent to ten endpoints of one organisation, of which one is dead and one is slow.
import { setTimeout as pause } from 'node:timers/promises';
import { defined } from '@switchyard/contract';
import { platformAuthor } from '../../../packages/server/src/audit/index.ts';
import {
  bucketSql,
  createDueClock,
  createJobs,
  createMetrics,
  createOutgoingCalls,
  type Database,
  systemClock,
  systemIdGenerator,
} from '../../../packages/server/src/platform/index.ts';
import { createDeliveries } from '../../../packages/server/src/webhooks/index.ts';
import type { BenchOptions } from '../bench-options.ts';
import { type BenchProcess, startProcess } from '../bench-process.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { openAudit, readPlatformKey } from '../environment/provision-in-database.ts';
import { readCpu } from '../report/process-times.ts';
import { profileStep } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import { milliseconds, perSecond } from '../report/report-table.ts';
import { createKneeSearch, median } from '../sales/find-knee.ts';
import { longStep, shareOfKnee } from '../sales/knee-run.ts';
import { costBetween, type PrintLine } from '../sales/measured-step.ts';
import { createArrivalTimes, createRandom } from '../sales/request-schedule.ts';
import { openSalesEnvironment, type SalesEnvironment } from '../sales/sales-environment.ts';
import type { WebhookBaselineFunctions } from './webhooks-baseline.ts';
import type { ReceivedCounts, ReceiverFunctions } from './webhooks-receiver.ts';
import { reportWebhooks, type WebhookStep } from './webhooks-report.ts';

const fastOnes = 8;
const modelSales = { ratePerSecond: 250, seconds: 8 };
/** As a receiver is promised: a second behind the commit. */
const heldP99Us = 1_000_000;
const insertEveryMs = 5;
const endLimitMs = 20_000;
const lookEveryMs = 20;
const bareRuns = 3;

/** Past the server, under its keys, since it refuses addresses on loopback. */
async function createEndpoints(
  { platform, organization }: SalesEnvironment,
  urls: readonly string[],
): Promise<void> {
  const { database, log } = platform;
  const times = { clock: systemClock, dueClock: createDueClock(systemClock, log) };
  const parts = { database, ...times, ids: systemIdGenerator, log, metrics: createMetrics() };
  const { operations } = createDeliveries({
    ...parts,
    jobs: createJobs(parts),
    calls: createOutgoingCalls({ allowsLoopback: true }),
    masterKey: readPlatformKey(platform),
    retentionDays: 30,
    audit: openAudit(platform),
    requireMerchant: async () => {},
  });
  const scope = { organizationId: organization.organizationId, author: platformAuthor };
  for (const url of urls) {
    await operations.endpoints.create(scope, { url, eventTypes: ['transaction.*'] });
  }
}

type Model = { transaction_id: string; sequence: number; type: string };

/** Events of real sales, which are sent again and again. */
async function readModels({ platform, organization }: SalesEnvironment): Promise<Model[]> {
  const rows = await platform.database.query<Model>(
    `SELECT transaction_id, sequence, type FROM transaction_events
     WHERE organization_id = $1 AND type = 'transaction.captured' LIMIT 1000`,
    [organization.organizationId],
  );
  if (rows.length === 0) throw new Error('there is no event of a sale');
  return rows;
}

type WebhookLoad = {
  environment: SalesEnvironment;
  receiver: BenchProcess<ReceiverFunctions>;
  models: readonly Model[];
  random: () => number;
};

function insert(database: Database, organizationId: string, models: readonly Model[]) {
  const at = new Date(systemClock.now()).toISOString();
  return database.query(
    `INSERT INTO outbox (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
     SELECT ${bucketSql('r.subject')}, $1, r.id, r.kind, r.subject, r.sequence, $6
     FROM unnest($2::uuid[], $3::text[], $4::uuid[], $5::int[]) AS r(id, kind, subject, sequence)`,
    [
      organizationId,
      models.map(() => systemIdGenerator.uuid()),
      models.map(({ type }) => type),
      models.map(({ transaction_id }) => transaction_id),
      models.map(({ sequence }) => sequence),
      at,
    ],
  );
}

/** Reads the age of the oldest unpublished event every second. */
function watchOutbox(database: Database, agesMs: number[]): () => void {
  const timer = setInterval(() => {
    void database
      .query<{ at: Date | null }>('SELECT min(created_at) AS at FROM outbox')
      .then(([row]) => {
        const at = row?.at?.getTime();
        agesMs.push(at === undefined ? 0 : Math.max(0, systemClock.now() - at));
      });
  }, 1000);
  return () => clearInterval(timer);
}

/** Events come as independent sales do, for so long. */
async function publish(
  load: WebhookLoad,
  eventsPerSecond: number,
  seconds: number,
): Promise<number> {
  const { environment, models, random } = load;
  const next = createArrivalTimes(eventsPerSecond, random);
  const began = performance.now();
  let due = next();
  let published = 0;
  const running = new Set<Promise<unknown>>();
  while (performance.now() - began < seconds * 1000) {
    const now = performance.now() - began;
    const some: Model[] = [];
    for (; due <= now; due = next()) {
      const model = models[Math.floor(random() * models.length)];
      if (model !== undefined) some.push(model);
    }
    if (some.length > 0) {
      published += some.length;
      const work = insert(
        environment.platform.database,
        environment.organization.organizationId,
        some,
      );
      running.add(work);
      void work.finally(() => running.delete(work));
    }
    await pause(insertEveryMs);
  }
  await Promise.all(running);
  return published;
}

async function step(
  load: WebhookLoad,
  ratePerSecond: number,
  seconds: number,
): Promise<WebhookStep> {
  const { environment, receiver } = load;
  const { server, platform } = environment;
  const watched = { server: server.pid, postgres: platform.postgresPid, load: receiver.pid };
  const takeCounts = () => receiver.call('takeCounts', undefined);
  await takeCounts();
  const outboxAgesMs: number[] = [];
  const stopWatching = watchOutbox(platform.database, outboxAgesMs);
  const begin = { cpu: readCpu(watched), answered: 0 };
  const events = await publish(load, ratePerSecond / fastOnes, seconds);
  const ended = performance.now();
  stopWatching();
  const expected = events * fastOnes;
  const parts = [await takeCounts()];
  const countSoFar = () => parts.reduce((sum, part) => sum + part.count, 0);
  while (countSoFar() < expected && performance.now() - ended < endLimitMs) {
    await pause(lookEveryMs);
    parts.push(await takeCounts());
  }
  const behindMs = performance.now() - ended;
  const count = countSoFar();
  const worst = (pick: (part: ReceivedCounts) => number) =>
    Math.max(...parts.filter((one) => one.count > 0).map(pick));
  const { cpuUs, busyShare, othersShare } = costBetween(begin, {
    cpu: readCpu(watched),
    answered: count,
  });
  return {
    ratePerSecond,
    seconds,
    behindMs,
    missing: Math.max(0, expected - count),
    count,
    p50Us: parts[0]?.p50Us ?? 0,
    // Never reported too low: the worst of the parts.
    p99Us: worst(({ p99Us }) => p99Us),
    maxUs: worst(({ maxUs }) => maxUs),
    cpuUs: { server: cpuUs.server, postgres: cpuUs.postgres, receiver: cpuUs.load },
    busyShare,
    othersShare,
    outboxAgesMs,
  };
}

const isHeld = ({ missing, p99Us }: WebhookStep) => missing === 0 && p99Us < heldP99Us;

const describe = (one: WebhookStep) =>
  `${perSecond(one.ratePerSecond)} offered: p50 ${milliseconds(one.p50Us)}, p99 ${milliseconds(one.p99Us)}, ` +
  `${one.missing} missing, last one ${Math.round(one.behindMs)} ms behind`;

async function runBaseline(
  closers: CloseStack,
  { platform }: SalesEnvironment,
  ports: number[],
  seconds: number,
): Promise<number> {
  const script = new URL('./webhooks-baseline.ts', import.meta.url);
  const baseline = startProcess<WebhookBaselineFunctions>(closers, script);
  const [row] = await platform.database.query<{ body: string }>(
    'SELECT body FROM feed_events LIMIT 1',
  );
  const body = row?.body ?? '{}';
  await baseline.call('open', { url: platform.baselineUrl, ports, body });
  const runs: number[] = [];
  while (runs.length < bareRuns) runs.push(await baseline.call('run', seconds));
  await baseline.stop();
  return median(runs);
}

export async function benchWebhooks(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<BenchResult> {
  const environment = await openSalesEnvironment(closers, options);
  const { platform, server } = environment;
  const receiver = startProcess<ReceiverFunctions>(
    closers,
    new URL('./webhooks-receiver.ts', import.meta.url),
  );
  const { fastPorts, slowPort, deadPort } = await receiver.call('open', fastOnes);
  printLine('some sales, whose events are sent …');
  await environment.load.step('sales', modelSales.ratePerSecond, modelSales.seconds);
  const ports = [...fastPorts, slowPort, deadPort];
  await createEndpoints(
    environment,
    ports.map((port) => `http://127.0.0.1:${port}/hooks`),
  );
  const models = await readModels(environment);
  const load = { environment, receiver, models, random: createRandom(options.seed) };
  printLine('warming up …');
  for (const rate of [400, 1000]) printLine(describe(await step(load, rate, options.seconds)));
  const barePerSecond = await runBaseline(closers, environment, fastPorts, options.seconds);
  printLine(`baseline: ${perSecond(barePerSecond)}`);
  const steps: WebhookStep[] = [];
  const search = createKneeSearch({ from: 1500, precision: 0.08, stepsMax: 14 });
  for (let rate = options.knee > 0 ? undefined : search.next(); rate !== undefined; ) {
    const measured = await step(load, rate, options.seconds);
    steps.push(measured);
    printLine(describe(measured));
    search.report(rate, isHeld(measured));
    rate = search.next();
  }
  const kneePerSecond = options.knee > 0 ? options.knee : search.highestHeldRate();
  const rate70 = Math.round(kneePerSecond * shareOfKnee);
  let at70: WebhookStep | undefined;
  const measure70 = async () => {
    at70 = await step(load, rate70, options.seconds * longStep);
    return { answered: at70.count };
  };
  const profile = options.profile ? await profileStep(platform, server.pid, measure70) : undefined;
  if (at70 === undefined) await measure70();
  if (at70 === undefined) throw new Error('nothing was measured');
  printLine(`at 70 %: ${describe(at70)}`);
  const residentHighestMib = server.memory.highest();
  const figures = { kneePerSecond, barePerSecond, steps, at70, residentHighestMib };
  return reportWebhooks({ ...figures, ...defined({ profile }) });
}
