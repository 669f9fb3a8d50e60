// `bench relay`: the cost of the Cloud Connector beside WebSockets alone, its memory, and its restart.
import { setTimeout as pause } from 'node:timers/promises';
import { defined } from '@switchyard/contract';
import type { BenchOptions, RelayPart } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { readCpu, readResidentMemory } from '../report/process-times.ts';
import { type Profile, profileStep } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import { mebibytes, milliseconds, perSecond } from '../report/report-table.ts';
import { median } from '../sales/find-knee.ts';
import type { PrintLine } from '../sales/measured-step.ts';
import {
  openRelayEnvironment,
  type RelayClients,
  type RelayEnvironment,
  type RelayServer,
} from './relay-environment.ts';
import {
  buildRelayReport,
  type FloodFigures,
  type IdleFigures,
  type RelayCase,
  type RelayStep,
} from './relay-report.ts';

const standardPairs = [1, 50, 1000];
const standardBytes = [512, 4096];
const floodBytes = 300 * 1024 * 1024;
const settleMs = 10_000;
const floodSettleMs = 2000;
const quietMs = 2000;
const lookMs = 20;
const claimSeconds = 20;
const backLimitSeconds = 180;
/** The clients warm up for this time, which is in the CPU time of a step. */
const warmUpSeconds = 0.5;

type Run = { environment: RelayEnvironment; options: BenchOptions; printLine: PrintLine };
type Comparison = { cases: RelayCase[]; profile: Profile | undefined };
type Side = 'baseline' | 'platform';
const sides = ['baseline', 'platform'] as const;

/** Each figure for itself, as the noise of one is not that of another. */
function medianOf(steps: readonly RelayStep[]): RelayStep {
  const medianFigure = (name: keyof RelayStep) => median(steps.map((step) => step[name]));
  return {
    roundTripsPerSecond: medianFigure('roundTripsPerSecond'),
    p50Us: medianFigure('p50Us'),
    p99Us: medianFigure('p99Us'),
    serverUs: medianFigure('serverUs'),
  };
}

type RelayLoad = { name: Side; pairs: number; bytes: number; seconds: number };

async function measure(clients: RelayClients, pid: number, load: RelayLoad): Promise<RelayStep> {
  const cpuMs = () => readCpu({ server: pid, postgres: 0 }).server;
  const before = cpuMs();
  const result = await clients.call('exchangeMessages', load);
  const spentUs = (cpuMs() - before) * 1000;
  const share = load.seconds / (load.seconds + warmUpSeconds);
  const roundTrips = result.roundTripsPerSecond * load.seconds;
  return { ...result, serverUs: (spentUs * share) / roundTrips };
}

function casesOf({ environment, options }: Run): { counts: number[]; sizes: number[] } {
  const possiblePairs = standardPairs.filter((count) => count <= environment.tsns.length);
  return {
    counts: options.pairs === 0 ? possiblePairs : [options.pairs],
    sizes: options.bytes === 0 ? standardBytes : [options.bytes],
  };
}

/** Both servers hold all pairs all the time, and only one of them gets requests at a time. */
async function compare(
  run: Run,
  { server, target }: RelayServer,
  isTls: boolean,
): Promise<Comparison> {
  const { environment, options, printLine } = run;
  const baseline = await environment.startBaseline(isTls);
  const { authority, ca } = target;
  const baselineTarget = { port: baseline.port, authority, ca };
  const clients = environment.startClients();
  const { counts, sizes } = casesOf(run);
  const tsns = environment.tsns.slice(0, Math.max(...counts));
  await clients.call('open', { name: 'baseline', target: baselineTarget, tsns });
  await clients.call('open', { name: 'platform', target, tsns });
  const pids = { baseline: baseline.pid, platform: server.pid };
  const cases: RelayCase[] = [];
  for (const bytes of sizes) {
    for (const pairs of counts) {
      const steps: Record<Side, RelayStep[]> = { baseline: [], platform: [] };
      for (let round = 0; round < options.rounds; round += 1) {
        for (const name of sides) {
          const load = { name, pairs, bytes, seconds: options.seconds };
          steps[name].push(await measure(clients, pids[name], load));
        }
      }
      const [baselineStep, platformStep] = [medianOf(steps.baseline), medianOf(steps.platform)];
      cases.push({ tls: isTls, pairs, bytes, baseline: baselineStep, platform: platformStep });
      const rates = [baselineStep, platformStep].map((step) => perSecond(step.roundTripsPerSecond));
      const name = `${isTls ? 'TLS' : 'plain'}, ${pairs} × ${bytes} B`;
      printLine(`${name}: baseline ${rates[0]}, platform ${rates[1]}`);
    }
  }
  const profile = options.profile ? await profileRun(run, clients, server.pid) : undefined;
  await clients.stop();
  await baseline.stop();
  return { cases, profile };
}

/** Of the platform, with the most pairs and the longest messages, after what counts. */
function profileRun(run: Run, clients: RelayClients, pid: number): Promise<Profile> {
  const { environment, options } = run;
  const { counts, sizes } = casesOf(run);
  const seconds = options.seconds * 3;
  const load: RelayLoad = {
    name: 'platform',
    pairs: Math.max(...counts),
    bytes: Math.max(...sizes),
    seconds,
  };
  return profileStep(environment.platform, pid, async () => {
    const { roundTripsPerSecond } = await measure(clients, pid, load);
    return { answered: Math.round(roundTripsPerSecond * seconds) };
  });
}

/** Halves of the pairs in a process each: a process has so many files, and memory for so many ends. */
async function holdIdle({ environment, printLine }: Run): Promise<IdleFigures> {
  const { server, target } = await environment.startServer(true);
  await pause(settleMs);
  const beforeMib = readResidentMemory(server.pid);
  const pairs = environment.tsns.length;
  const half = Math.ceil(pairs / 2);
  const began = performance.now();
  const all = [environment.tsns.slice(0, half), environment.tsns.slice(half)].map(async (tsns) => {
    const clients = environment.startClients();
    await clients.call('open', { name: 'idle', target, tsns });
    return clients;
  });
  const opened = await Promise.all(all);
  const openSeconds = (performance.now() - began) / 1000;
  await pause(settleMs);
  const afterMib = readResidentMemory(server.pid);
  await Promise.all(opened.map((clients) => clients.stop()));
  printLine(`${pairs} idle pairs over TLS: ${mebibytes(afterMib)}`);
  await server.stop();
  return { pairs, beforeMib, afterMib, openSeconds };
}

async function floodOne(
  { environment }: Run,
  { server, target }: RelayServer,
  reader: 'device' | 'pos',
): Promise<FloodFigures> {
  const clients = environment.startClients();
  await clients.call('open', { name: 'flood', target, tsns: environment.tsns.slice(0, 1) });
  await pause(floodSettleMs);
  const before = readResidentMemory(server.pid);
  let highest = before;
  const timer = setInterval(() => {
    highest = Math.max(highest, readResidentMemory(server.pid));
  }, lookMs);
  const { code, accepted } = await clients.call('flood', {
    name: 'flood',
    bytes: floodBytes,
    reader,
  });
  clearInterval(timer);
  await clients.stop();
  return { reader, code, growthMib: highest - before, acceptedMib: accepted / 2 ** 20 };
}

async function restart({ environment, options, printLine }: Run) {
  const { tsns } = environment;
  const first = await environment.startServer(true);
  const clients = environment.startClients();
  const connectSeconds = await clients.call('connectDevices', { target: first.target, tsns });
  const connected = `${tsns.length} devices connected in ${connectSeconds.toFixed(1)} s`;
  printLine(`${connected}; the server restarts …`);
  const stoppedAt = Date.now();
  await first.server.stop();
  const second = await environment.startServer(true);
  const listensAt = Date.now();
  const failures: Record<string, number> = {};
  async function countDevices() {
    const counted = await clients.call('countDevices', undefined);
    for (const [kind, count] of Object.entries(counted.failures)) {
      failures[kind] = (failures[kind] ?? 0) + count;
    }
    return counted;
  }
  let counted = await countDevices();
  while (counted.open < tsns.length && Date.now() - listensAt < backLimitSeconds * 1000) {
    await pause(500);
    counted = await countDevices();
  }
  const { open, lastAt } = counted;
  const reconnection = {
    devices: tsns.length,
    open,
    failures,
    seconds: (lastAt - listensAt) / 1000,
    sinceStopSeconds: (lastAt - stoppedAt) / 1000,
  };
  printLine(`${open} are back after ${reconnection.seconds.toFixed(1)} s`);
  const { rate: ratePerSecond, seed } = options;
  const load = { target: second.target, ratePerSecond, seconds: claimSeconds, seed };
  const claims = await clients.call('claimDevices', load);
  printLine(`${ratePerSecond} claims a second: p99 ${milliseconds(claims.p99Us)}`);
  await clients.stop();
  await second.server.stop();
  return { reconnection, claims };
}

async function readOthersShare({ environment }: Run): Promise<number> {
  const sample = () => readCpu({ server: 0, postgres: environment.platform.postgresPid });
  const from = sample();
  await pause(quietMs);
  const to = sample();
  return (to.others - from.others) / Math.max(1, to.totalMs - from.totalMs);
}

export async function benchRelay(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<BenchResult> {
  printLine(`making ${options.terminals.toLocaleString('en')} devices …`);
  const environment = await openRelayEnvironment(closers, options);
  const run = { environment, options, printLine };
  const isSelected = (part: RelayPart) => options.relayParts.includes(part);
  const idle = isSelected('idle') ? await holdIdle(run) : undefined;
  const restarted = isSelected('restart') ? await restart(run) : undefined;
  const comparisons: Comparison[] = [];
  const floods: FloodFigures[] = [];
  if (isSelected('tls') || isSelected('flood')) {
    const encrypted = await environment.startServer(true);
    if (isSelected('tls')) comparisons.push(await compare(run, encrypted, true));
    if (isSelected('flood')) {
      floods.push(await floodOne(run, encrypted, 'device'), await floodOne(run, encrypted, 'pos'));
    }
    await encrypted.server.stop();
  }
  const othersShare = await readOthersShare(run);
  if (isSelected('plain')) {
    const plain = await environment.startServer(false);
    comparisons.push(await compare(run, plain, false));
    await plain.server.stop();
  }
  const profile = comparisons.find((comparison) => comparison.profile !== undefined)?.profile;
  const cases = comparisons.flatMap((comparison) => comparison.cases);
  const optional = defined({ idle, restart: restarted, profile });
  return buildRelayReport({ cases, floods, othersShare, ...optional }, options);
}
