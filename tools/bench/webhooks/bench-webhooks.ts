// `bench webhooks`: events of sales are sent to ten endpoints of one organisation, of which one is dead and one is slow.
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { defined } from '@switchyard/contract';
import { createAudit, platformAuthor } from '../../../packages/server/src/audit/index.ts';
import {
  createDueClock,
  createJobs,
  createLog,
  createMetrics,
  createOutgoingCalls,
  type Database,
  readSettings,
  systemClock,
  systemIds,
} from '../../../packages/server/src/platform/index.ts';
import { createDeliveries } from '../../../packages/server/src/webhooks/index.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { type BenchEnvironment, openBenchEnvironment } from '../environment/bench-environment.ts';
import { cpuBetween, readCpu } from '../report/process-times.ts';
import { type Profile, profileStep } from '../report/profile-step.ts';
import { milliseconds, perSecond } from '../report/report-table.ts';
import { createKneeSearch, median } from '../sales/find-knee.ts';
import type { PrintLine } from '../sales/knee-run.ts';
import { createArrivalTimes, createRandom } from '../sales/request-schedule.ts';
import type {
  FromReceiver,
  FromWebhookBaseline,
  ReceivedCounts,
  ToReceiver,
  ToWebhookBaseline,
  WebhookStep,
} from './webhooks-messages.ts';

const goodOnes = 8;
const modelSales = { ratePerSecond: 250, seconds: 8 };
/** As a receiver is promised: a second behind the commit. */
const heldP99Us = 1_000_000;
const insertEveryMs = 5;
const endLimitMs = 20_000;
const bareRuns = 3;

export type WebhookFigures = {
  kneePerSecond: number;
  barePerSecond: number;
  steps: WebhookStep[];
  at70: WebhookStep;
  residentHighestMib: number;
  profile?: Profile;
};

type Answer = FromReceiver | FromWebhookBaseline;

/** One question, one answer. */
function sendMessage(
  child: ChildProcess,
  message: ToReceiver | ToWebhookBaseline,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error('a process of the bench has died'));
    child.once('exit', onExit);
    child.once('message', (answer: Answer) => {
      child.off('exit', onExit);
      if (answer.type === 'fault') reject(new Error(answer.text));
      else resolve(answer);
    });
    child.send(message);
  });
}

function start(closers: CloseStack, script: URL): ChildProcess {
  return closers.fork(fileURLToPath(script), {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

/** Under the keys of the server, past its door. */
async function makeEndpoints(scene: BenchEnvironment, urls: readonly string[]): Promise<void> {
  const { database } = scene;
  const dataDir = join(scene.folder, 'platform');
  const masterKey = readSettings({ SWITCHYARD_DATA_DIR: dataDir }).platformKey;
  const log = createLog({ logLevel: 'error', instanceName: 'bench' }, process.stderr);
  const dueClock = createDueClock(systemClock, log);
  const times = { clock: systemClock, dueClock };
  const parts = { database, ...times, ids: systemIds, log, metrics: createMetrics() };
  const jobs = createJobs(parts);
  const calls = createOutgoingCalls({ allowsLoopback: true });
  const { operations: webhooks } = createDeliveries({
    ...parts,
    jobs,
    calls,
    masterKey,
    retentionDays: 30,
    audit: createAudit({ database, clock: systemClock, jobs, masterKey }),
    requireMerchant: async () => {},
  });
  const scope = { organizationId: scene.organization.organizationId, author: platformAuthor };
  for (const url of urls)
    await webhooks.endpoints.create(scope, { url, eventTypes: ['transaction.*'] });
}

type Model = { transaction_id: string; sequence: number; type: string };

/** Events of real sales, which are sent again and again. */
async function modelsOf({ database, organization }: BenchEnvironment): Promise<Model[]> {
  const rows = await database.query<Model>(
    `SELECT transaction_id, sequence, type FROM transaction_events
     WHERE organization_id = $1 AND type = 'transaction.captured' LIMIT 1000`,
    [organization.organizationId],
  );
  if (rows.length === 0) throw new Error('there is no sale to tell of');
  return rows;
}

type Stage = {
  scene: BenchEnvironment;
  receiver: ChildProcess;
  models: readonly Model[];
  random: () => number;
};

async function readCounts({ receiver }: Stage): Promise<ReceivedCounts> {
  const answer = await sendMessage(receiver, { type: 'take' });
  if (answer.type !== 'taken') throw new Error('no figures');
  return answer.counts;
}

function insert(database: Database, organizationId: string, models: readonly Model[]) {
  const at = new Date(systemClock.now()).toISOString();
  return database.query(
    `INSERT INTO outbox (organization_id, outbox_id, kind, subject_id, sequence, created_at)
     SELECT $1, r.id, r.kind, r.subject, r.sequence, $6
     FROM unnest($2::uuid[], $3::text[], $4::uuid[], $5::int[]) AS r(id, kind, subject, sequence)`,
    [
      organizationId,
      models.map(() => systemIds.uuid()),
      models.map(({ type }) => type),
      models.map(({ transaction_id }) => transaction_id),
      models.map(({ sequence }) => sequence),
      at,
    ],
  );
}

/** What waits longest to be published, looked at every second. */
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

/** Events come as independent sales do, for so long, and then it is waited for the last of them. */
async function publish(stage: Stage, eventsPerSecond: number, seconds: number): Promise<number> {
  const { scene, models, random } = stage;
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
      const work = insert(scene.database, scene.organization.organizationId, some);
      running.add(work);
      void work.finally(() => running.delete(work));
    }
    await pause(insertEveryMs);
  }
  await Promise.all(running);
  return published;
}

async function step(stage: Stage, ratePerSecond: number, seconds: number): Promise<WebhookStep> {
  const { scene, receiver } = stage;
  const watched = {
    server: scene.server.pid,
    postgres: scene.postgresPid,
    simulator: 0,
    load: receiver.pid ?? 0,
  };
  await readCounts(stage);
  const outboxAgesMs: number[] = [];
  const stopWatching = watchOutbox(scene.database, outboxAgesMs);
  const before = readCpu(watched);
  const events = await publish(stage, ratePerSecond / goodOnes, seconds);
  const ended = performance.now();
  stopWatching();
  const expected = events * goodOnes;
  let all = await readCounts(stage);
  const parts = [all];
  let count = all.count;
  while (count < expected && performance.now() - ended < endLimitMs) {
    await pause(20);
    all = await readCounts(stage);
    parts.push(all);
    count += all.count;
  }
  const behindMs = performance.now() - ended;
  const spent = cpuBetween(before, readCpu(watched));
  const perDelivery = (ms: number) => (ms * 1000) / Math.max(1, count);
  const worst = (pick: (part: ReceivedCounts) => number) =>
    Math.max(...parts.filter((one) => one.count > 0).map(pick));
  const measuredMs = spent.server + spent.postgres + spent.load;
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
    cpuUs: {
      server: perDelivery(spent.server),
      postgres: perDelivery(spent.postgres),
      receiver: perDelivery(spent.load),
    },
    busyShare: (measuredMs + spent.others) / spent.totalMs,
    othersShare: Math.max(0, spent.others / spent.totalMs),
    outboxAgesMs,
  };
}

const isHeld = ({ missing, p99Us }: WebhookStep) => missing === 0 && p99Us < heldP99Us;

const described = (one: WebhookStep) =>
  `${perSecond(one.ratePerSecond)} offered: p50 ${milliseconds(one.p50Us)}, p99 ${milliseconds(one.p99Us)}, ` +
  `${one.missing} missing, last one ${Math.round(one.behindMs)} ms behind`;

async function bareLine(
  closers: CloseStack,
  scene: BenchEnvironment,
  ports: readonly number[],
  seconds: number,
): Promise<number> {
  const sender = start(closers, new URL('./webhooks-baseline.ts', import.meta.url));
  const [row] = await scene.database.query<{ body: string }>(
    'SELECT body FROM feed_events LIMIT 1',
  );
  const body = row?.body ?? '{}';
  await sendMessage(sender, { type: 'open', url: scene.bareUrl, ports: [...ports], body });
  const runs: number[] = [];
  while (runs.length < bareRuns) {
    const answer = await sendMessage(sender, { type: 'run', seconds });
    if (answer.type === 'result') runs.push(answer.perSecond);
  }
  sender.disconnect();
  return median(runs);
}

export async function benchWebhooks(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<WebhookFigures> {
  const scene = await openBenchEnvironment(closers, options);
  const receiver = start(closers, new URL('./webhooks-receiver.ts', import.meta.url));
  const ready = await sendMessage(receiver, { type: 'open', good: goodOnes });
  if (ready.type !== 'ready' || !('good' in ready)) throw new Error('no receivers');
  printLine('some sales, whose events are sent …');
  await scene.load.step('sales', modelSales.ratePerSecond, modelSales.seconds);
  const ports = [...ready.good, ready.slow, ready.dead];
  await makeEndpoints(
    scene,
    ports.map((port) => `http://127.0.0.1:${port}/hooks`),
  );
  const models = await modelsOf(scene);
  const stage = { scene, receiver, models, random: createRandom(options.seed) };
  printLine('warming up …');
  for (const rate of [400, 1000]) printLine(described(await step(stage, rate, options.seconds)));
  const barePerSecond = await bareLine(closers, scene, ready.good, options.seconds);
  printLine(`bare line: ${perSecond(barePerSecond)}`);
  const steps: WebhookStep[] = [];
  const search = createKneeSearch({ from: 1500, precision: 0.08, stepsMax: 14 });
  for (let rate = options.knee > 0 ? undefined : search.next(); rate !== undefined; ) {
    const measured = await step(stage, rate, options.seconds);
    steps.push(measured);
    printLine(described(measured));
    search.report(rate, isHeld(measured));
    rate = search.next();
  }
  const kneePerSecond = options.knee > 0 ? options.knee : search.highestHeldRate();
  const rate70 = Math.round(kneePerSecond * 0.7);
  let at70: WebhookStep | undefined;
  const measure70 = async () => {
    at70 = await step(stage, rate70, options.seconds * 3);
    return { answered: at70.count };
  };
  const profile = options.profile ? await profileStep(scene, measure70) : undefined;
  if (at70 === undefined) await measure70();
  if (at70 === undefined) throw new Error('nothing was measured');
  printLine(`at 70 %: ${described(at70)}`);
  return {
    kneePerSecond,
    barePerSecond,
    steps,
    at70,
    residentHighestMib: scene.memory.highest(),
    ...defined({ profile }),
  };
}
