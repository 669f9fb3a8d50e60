// `bench relay`: what the Cloud Connector costs beside bare WebSockets, what it holds, and how it comes back.

import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import type { ServerProcess } from '../environment/server-process.ts';
import { readCpu, readResidentMemory } from '../report/process-times.ts';
import { type Profile, profileStep } from '../report/profile-step.ts';
import { mebibytes, milliseconds, perSecond } from '../report/report-table.ts';
import type { PrintLine } from '../sales/knee-run.ts';
import {
  openRelayEnvironment,
  type RelayClients,
  type RelayEnvironment,
} from './relay-environment.ts';
import type { ClaimResult, PlatformTarget, RelayServer, RunResult } from './relay-messages.ts';

export const relayTargets = {
  shareOfBare: 0.9,
  idlePairs: 9000,
  idleMib: 750,
  floodMib: 30,
  backSeconds: 60,
  claimsPerSecond: 200,
  claimP99Us: 50_000,
} as const;

const pairCounts = [1, 50, 1000] as const;
const sizes = [512, 4096] as const;
const floodBytes = 300 * 1024 * 1024;
const settleMs = 10_000;
const lookMs = 20;
const claimSeconds = 20;
const backLimitSeconds = 180;

export type RelayStep = RunResult & { serverUs: number };
export type RelayCase = {
  tls: boolean;
  pairs: number;
  bytes: number;
  /** Medians of the rounds. */
  bare: RelayStep;
  platform: RelayStep;
};
export type FloodFigures = {
  reader: 'device' | 'pos';
  growthMib: number;
  acceptedMib: number;
  code: number;
};
export type RelayFigures = {
  cases: RelayCase[];
  idle: { pairs: number; beforeMib: number; afterMib: number; openSeconds: number };
  floods: FloodFigures[];
  reconnection: {
    devices: number;
    open: number;
    /** Since the server listens again, and since its stop signal. */
    seconds: number;
    sinceStopSeconds: number;
    failures: Record<string, number>;
  };
  claims: ClaimResult;
  othersShare: number;
  profile?: Profile;
};

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const middleOf = <Item>(items: readonly Item[], figureOf: (item: Item) => number): Item => {
  const sorted = [...items].sort((one, other) => figureOf(one) - figureOf(other));
  return sorted[Math.floor(sorted.length / 2)] as Item;
};

/** Each figure for itself, as the noise of one is not that of another. */
const medianOf = (steps: readonly RelayStep[]): RelayStep => {
  const medianFigure = (name: keyof RelayStep) => middleOf(steps, (step) => step[name])[name];
  return {
    roundTripsPerSecond: medianFigure('roundTripsPerSecond'),
    p50Us: medianFigure('p50Us'),
    p99Us: medianFigure('p99Us'),
    serverUs: medianFigure('serverUs'),
  };
};

type RelayRequest = Parameters<RelayClients['ask']>[0];
type RelayAnswer = Awaited<ReturnType<RelayClients['ask']>>;

async function demand<Type extends RelayAnswer['type']>(
  clients: RelayClients,
  message: RelayRequest,
  type: Type,
): Promise<Extract<RelayAnswer, { type: Type }>> {
  const answer = await clients.ask(message);
  if (answer.type !== type) throw new Error(`the clients answered ${answer.type}`);
  return answer as Extract<RelayAnswer, { type: Type }>;
}

const cpuOf = (pid: number) =>
  readCpu({ server: pid, postgres: 0, simulator: 0, load: process.pid }).server;

async function measure(
  clients: RelayClients,
  load: { name: string; pid: number; pairs: number; bytes: number; seconds: number },
): Promise<RelayStep> {
  const { name, pid, pairs, bytes, seconds } = load;
  const before = cpuOf(pid);
  const message = { type: 'run', name, pairs, bytes, seconds } as const;
  const { result } = await demand(clients, message, 'ran');
  const spentUs = (cpuOf(pid) - before) * 1000;
  // The half second of warming up is in the time of the CPU too.
  const share = seconds / (seconds + 0.5);
  return { ...result, serverUs: (spentUs * share) / (result.roundTripsPerSecond * seconds) };
}

type Rig = {
  scene: RelayEnvironment;
  options: BenchOptions;
  printLine: PrintLine;
  closers: CloseStack;
};

/** Both servers hold all pairs all the time, and only one of them gets requests at a time. */
async function compare(
  rig: Rig,
  tls: boolean,
  started: Awaited<ReturnType<RelayEnvironment['startServer']>>,
): Promise<{ cases: RelayCase[]; profile?: Profile }> {
  const { scene, options, printLine } = rig;
  const { server, platform } = started;
  const baseline = await scene.startBare(tls);
  const { ca, authority } = platform.target;
  const target = { port: baseline.port, authority, ca };
  const servers: Record<'bare' | 'platform', RelayServer> = {
    bare: { kind: 'bare', target },
    platform,
  };
  const clients = scene.startClients();
  const counts = pairCounts.filter((count) => count <= scene.tsns.length);
  const tsns = scene.tsns.slice(0, counts.at(-1));
  for (const name of ['bare', 'platform'] as const) {
    await demand(clients, { type: 'open', name, server: servers[name], tsns }, 'opened');
  }
  const pids = { bare: baseline.pid, platform: server.pid };
  const cases: RelayCase[] = [];
  for (const bytes of sizes) {
    for (const pairs of counts) {
      const steps: Record<'bare' | 'platform', RelayStep[]> = { bare: [], platform: [] };
      for (let round = 0; round < options.rounds; round += 1) {
        for (const name of ['bare', 'platform'] as const) {
          const load = { name, pid: pids[name], pairs, bytes, seconds: options.seconds };
          steps[name].push(await measure(clients, load));
        }
      }
      const made = {
        tls,
        pairs,
        bytes,
        bare: medianOf(steps.bare),
        platform: medianOf(steps.platform),
      };
      cases.push(made);
      const rates = [made.bare, made.platform].map((step) => perSecond(step.roundTripsPerSecond));
      printLine(
        `${tls ? 'TLS' : 'plain'}, ${pairs} × ${bytes} B: bare ${rates[0]}, platform ${rates[1]}`,
      );
    }
  }
  const profile = options.profile ? await profileRun(rig, clients, server) : undefined;
  await clients.stop();
  await baseline.stop();
  return profile === undefined ? { cases } : { cases, profile };
}

/** Of the platform, with the most pairs and the longest messages, after what counts. */
async function profileRun(
  { scene, options }: Rig,
  clients: RelayClients,
  server: ServerProcess,
): Promise<Profile> {
  const { folder, database, tsns } = scene;
  const pairs = Math.max(...pairCounts.filter((count) => count <= tsns.length));
  const seconds = options.seconds * 3;
  const load = { name: 'platform', pid: server.pid, pairs, bytes: Math.max(...sizes), seconds };
  return profileStep({ server, folder, database }, async () => {
    const { roundTripsPerSecond } = await measure(clients, load);
    return { answered: Math.round(roundTripsPerSecond * seconds) };
  });
}

/** Halves of the pairs in a process each: a process has so many files, and memory for so many ends. */
async function holdIdle({ scene, printLine }: Rig): Promise<RelayFigures['idle']> {
  const { server, platform } = await scene.startServer(true);
  await pause(settleMs);
  const beforeMib = readResidentMemory(server.pid);
  const half = Math.ceil(scene.tsns.length / 2);
  const began = performance.now();
  const all = [scene.tsns.slice(0, half), scene.tsns.slice(half)].map(async (tsns) => {
    const clients = scene.startClients();
    await demand(clients, { type: 'open', name: 'idle', server: platform, tsns }, 'opened');
    return clients;
  });
  const opened = await Promise.all(all);
  const openSeconds = (performance.now() - began) / 1000;
  await pause(settleMs);
  const afterMib = readResidentMemory(server.pid);
  await Promise.all(opened.map((clients) => clients.stop()));
  printLine(`${scene.tsns.length} idle pairs over TLS: ${mebibytes(afterMib)}`);
  await server.stop();
  return { pairs: scene.tsns.length, beforeMib, afterMib, openSeconds };
}

async function floodOne(
  { scene }: Rig,
  started: Awaited<ReturnType<RelayEnvironment['startServer']>>,
  reader: 'device' | 'pos',
): Promise<FloodFigures> {
  const { server, platform } = started;
  const clients = scene.startClients();
  const open = { type: 'open', name: 'flood', server: platform, tsns: scene.tsns.slice(0, 1) };
  await demand(clients, open as RelayRequest, 'opened');
  await pause(2000);
  const before = readResidentMemory(server.pid);
  let highest = before;
  const timer = setInterval(() => {
    highest = Math.max(highest, readResidentMemory(server.pid));
  }, lookMs);
  const message = { type: 'flood', name: 'flood', bytes: floodBytes, reader } as const;
  const answer = await demand(clients, message, 'flooded');
  clearInterval(timer);
  await clients.stop();
  const { code, accepted } = answer;
  return { reader, code, growthMib: highest - before, acceptedMib: accepted / 2 ** 20 };
}

async function comeBack(rig: Rig) {
  const { scene, printLine, options } = rig;
  const { tsns } = scene;
  const first = await scene.startServer(true);
  const clients = scene.startClients();
  const connect = { type: 'connect', server: first.platform, tsns } as const;
  const { seconds: connectSeconds } = await demand(clients, connect, 'connected');
  printLine(
    `${tsns.length} devices connected in ${connectSeconds.toFixed(1)} s; the server restarts …`,
  );
  const stoppedAt = Date.now();
  await first.server.stop();
  const second = await scene.startServer(true);
  const listensAt = Date.now();
  let counted = await demand(clients, { type: 'count' }, 'counted');
  const failures: Record<string, number> = {};
  for (;;) {
    for (const [what, count] of Object.entries(counted.failures)) {
      failures[what] = (failures[what] ?? 0) + count;
    }
    const isOver = counted.open === tsns.length || Date.now() - listensAt > backLimitSeconds * 1000;
    if (isOver) break;
    await pause(500);
    counted = await demand(clients, { type: 'count' }, 'counted');
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
  const claims = await claim(rig, clients, second.platform);
  printLine(`${options.rate} claims a second: p99 ${milliseconds(claims.p99Us)}`);
  await clients.stop();
  await second.server.stop();
  return { reconnection, claims };
}

async function claim(
  { options }: Rig,
  clients: RelayClients,
  server: PlatformTarget,
): Promise<ClaimResult> {
  const { rate: ratePerSecond, seed } = options;
  const load = { ratePerSecond, seconds: claimSeconds, seed };
  return (await demand(clients, { type: 'claim', server, ...load }, 'claimed')).result;
}

export async function benchRelay(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<RelayFigures> {
  printLine(`making ${options.terminals.toLocaleString('en')} devices …`);
  const scene = await openRelayEnvironment(closers, options);
  const rig = { scene, options, printLine, closers };
  const sampleCpu = () =>
    readCpu({ server: 0, postgres: scene.postgresPid, simulator: 0, load: process.pid });
  const idle = await holdIdle(rig);
  const { reconnection, claims } = await comeBack(rig);
  const encrypted = await scene.startServer(true);
  const { cases, profile } = await compare(rig, true, encrypted);
  const floods = [await floodOne(rig, encrypted, 'device'), await floodOne(rig, encrypted, 'pos')];
  await encrypted.server.stop();
  const quietFrom = sampleCpu();
  await pause(2000);
  const quietTo = sampleCpu();
  const othersShare =
    (quietTo.others - quietFrom.others) / Math.max(1, quietTo.totalMs - quietFrom.totalMs);
  const plain = await scene.startServer(false);
  cases.push(
    ...(await compare({ ...rig, options: { ...options, profile: false } }, false, plain)).cases,
  );
  await plain.server.stop();
  const figures = { cases, idle, floods, reconnection, claims, othersShare };
  return profile === undefined ? figures : { ...figures, profile };
}
