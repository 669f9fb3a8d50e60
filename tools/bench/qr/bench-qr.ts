// `bench qr`: payments by code at a rate, thousands of terminals that wait, and events from the provider to them.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { readCpu } from '../report/process-times.ts';
import { type Profile, profileStep } from '../report/profile-step.ts';
import { mebibytes, microseconds, milliseconds, perSecond } from '../report/report-table.ts';
import { runStep, type StepResult } from '../sales/fixed-rate-load.ts';
import type { HttpResponse } from '../sales/http-answers.ts';
import { type HttpsConnections, openHttpsConnections } from '../sales/https-connections.ts';
import type { PrintLine } from '../sales/knee-run.ts';
import { costBetween } from '../sales/load-client.ts';
import { createRandom } from '../sales/request-schedule.ts';
import {
  openQrEnvironment,
  paymentType,
  type QrEnvironment,
  type QrTerminal,
} from './qr-environment.ts';
import type { EventDelayResult, FromQrTerminals, QrWait, ToQrTerminals } from './qr-messages.ts';

export const qrTargets = {
  createsPerSecond: 500,
  waiting: 5000,
  residentMib: 400,
  eventsPerSecond: 200,
  eventP99Us: 100_000,
} as const;

export type QrStep = StepResult & {
  serverUs: number;
  postgresUs: number;
  providerUs: number;
  /** How much of the machine was busy with what is not of this run; 1 is all of it. */
  othersShare: number;
};

export type QrFigures = {
  baseline: QrStep;
  creates: QrStep;
  waiting: {
    terminals: number;
    /** MiB of the whole server: at rest, when all of them wait, and a while later. */
    before: number;
    after: number;
    settled: number;
    openSeconds: number;
    lost: number;
    /** CPU of the server while nothing happens, 1 is one core. */
    idleCores: number;
  };
  events: EventDelayResult;
  profile?: Profile;
};

const terminalsScript = fileURLToPath(new URL('./qr-terminals.ts', import.meta.url));
const qrBase = '/qrcode-payment/v1/transactions';
const warmUpSeconds = 3;
const leadSeconds = 2;
const settleMs = 10_000;
const idleMs = 10_000;
const answerLimitMs = 300_000;
const createsAtOnce = 64;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function createText(authority: string, { token }: QrTerminal): string {
  const body = JSON.stringify({
    paymentType,
    paymentScenario: 'consumerscan',
    clientTransactionId: randomUUID(),
    paymentAmount: { amount: 1050, currency: 'EUR' },
  });
  return (
    `POST ${qrBase} HTTP/1.1\r\nHost: ${authority}\r\nAuthorization: Bearer ${token}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
}

const faultOf = ({ status }: HttpResponse) => (status === 200 ? undefined : `status ${status}`);

async function step(
  scene: QrEnvironment,
  stepOptions: {
    exchange: HttpsConnections;
    pid: number;
    rate: number;
    seconds: number;
    seed: number;
  },
): Promise<QrStep> {
  const { exchange, pid, rate, seconds, seed } = stepOptions;
  const random = createRandom(seed);
  const { server, postgresPid, provider, terminals } = scene;
  const sample = (answered: number) => ({
    cpu: readCpu({
      server: pid,
      postgres: postgresPid,
      simulator: provider.pid,
      load: process.pid,
    }),
    answered,
  });
  const windows: Partial<Record<'begin' | 'end', ReturnType<typeof sample>>> = {};
  const result = await runStep(exchange, {
    ratePerSecond: rate,
    seconds,
    random,
    request() {
      const terminal = terminals[Math.floor(random() * terminals.length)];
      if (terminal === undefined) throw new Error('there are no terminals');
      return { text: createText(server.authority, terminal), faultOf };
    },
    onWindow(at, answered) {
      windows[at] = sample(answered);
    },
  });
  const { cpuUs, othersShare } = costBetween(windows.begin, windows.end);
  const { server: serverUs, postgres: postgresUs, simulator: providerUs } = cpuUs;
  return { ...result, serverUs, postgresUs, providerUs, othersShare };
}

function describe(name: string, result: QrStep): string {
  const errors = Object.entries(result.errors).map(([kind, count]) => `${count} × ${kind}`);
  return [
    name.padEnd(12),
    `achieved ${perSecond(result.achievedPerSecond)}`,
    `p50 ${milliseconds(result.p50Us)}`,
    `p99 ${milliseconds(result.p99Us)}`,
    `server ${microseconds(result.serverUs)}`,
    `PostgreSQL ${microseconds(result.postgresUs)}`,
    ...errors,
  ].join('  ');
}

/** A payment for each terminal, that its consumer takes his time with. */
async function beginAll(scene: QrEnvironment, exchange: HttpsConnections): Promise<QrWait[]> {
  const waits: QrWait[] = [];
  const remaining = [...scene.terminals];
  async function worker(): Promise<void> {
    for (let terminal = remaining.pop(); terminal !== undefined; terminal = remaining.pop()) {
      const { token } = terminal;
      const text = createText(scene.server.authority, terminal);
      const transactionId = await new Promise<string>((resolve, reject) => {
        exchange.send(text, (answer, lost) => {
          if (answer?.status !== 200) return reject(new Error(lost ?? `status ${answer?.status}`));
          const body = answer.bytes.toString('utf8', answer.bodyStart, answer.bodyEnd);
          return resolve(String(JSON.parse(body).transactionId));
        });
      });
      waits.push({ transactionId, token });
    }
  }
  await Promise.all(Array.from({ length: createsAtOnce }, worker));
  return waits;
}

function startTerminals(closers: CloseStack) {
  const child = closers.fork(terminalsScript, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  return (message: ToQrTerminals): Promise<FromQrTerminals> =>
    new Promise((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error('the terminals are silent')), answerLimitMs);
      child.once('message', (answer: FromQrTerminals) => {
        clearTimeout(limit);
        if (answer.type === 'fault') reject(new Error(answer.text));
        else resolve(answer);
      });
      child.send(message);
    });
}

async function benchWaiting(
  scene: QrEnvironment,
  sendMessage: ReturnType<typeof startTerminals>,
  waits: QrWait[],
): Promise<QrFigures['waiting']> {
  const { server, memory, ca } = scene;
  const target = { host: '127.0.0.1', port: server.port, ca, authority: server.authority };
  const before = memory.now();
  const opened = await sendMessage({ type: 'open', server: target, waits });
  const openSeconds = opened.type === 'opened' ? opened.seconds : 0;
  const after = memory.now();
  await pause(settleMs);
  const cpu = () => readCpu({ server: server.pid, postgres: 0, simulator: 0, load: 0 }).server;
  const from = cpu();
  await pause(idleMs);
  const idleCores = (cpu() - from) / idleMs;
  const counted = await sendMessage({ type: 'count' });
  const lost = counted.type === 'counted' ? waits.length - counted.open : waits.length;
  return {
    terminals: waits.length,
    before,
    after,
    settled: memory.now(),
    openSeconds,
    lost,
    idleCores,
  };
}

export async function benchQr(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<QrFigures> {
  const { seconds, seed, rate, connections } = options;
  const creates = { rate: qrTargets.createsPerSecond, seconds, seed };
  printLine(`making ${options.terminals.toLocaleString('en')} terminals, and a provider …`);
  const scene = await openQrEnvironment(closers, options);
  const { server, provider, ca } = scene;
  const exchange = await openHttpsConnections(
    { host: '127.0.0.1', port: server.port, ca },
    connections,
  );
  const line = { host: '127.0.0.1', port: provider.barePort, ca };
  const bareExchange = await openHttpsConnections(line, connections);
  closers.add(async () => {
    exchange.close();
    bareExchange.close();
  });
  printLine('warming up …');
  await step(scene, { ...creates, exchange, pid: server.pid, seconds: warmUpSeconds });
  const waits = await beginAll(scene, exchange);
  const sendMessage = startTerminals(closers);
  const waiting = await benchWaiting(scene, sendMessage, waits);
  printLine(`${waits.length} terminals wait: ${mebibytes(waiting.settled)}`);
  const ids = waits.map(({ transactionId }) => transactionId);
  const sendEvents = async (some: string[]): Promise<EventDelayResult> => {
    const token = scene.providerToken;
    const lead = rate * leadSeconds;
    const reply = await sendMessage({
      type: 'tell',
      ratePerSecond: rate,
      ids: some,
      lead,
      token,
      seed,
    });
    if (reply.type !== 'told') throw new Error('the terminals told nothing');
    return reply.result;
  };
  const events = await sendEvents(ids.splice(0, rate * (seconds + leadSeconds)));
  printLine(`events to terminals: p99 ${milliseconds(events.p99Us)}`);
  // Last: unpaid payments lapse after three minutes, and the server queries the provider about each.
  const baseline = await step(scene, { ...creates, exchange: bareExchange, pid: provider.pid });
  printLine(describe('bare line', baseline));
  const made = await step(scene, { ...creates, exchange, pid: server.pid });
  printLine(describe('creates', made));
  const figures = { baseline, creates: made, waiting, events };
  if (!options.profile) return figures;
  if (ids.length > 0) {
    const profile = await profileStep(scene, async () => ({
      answered: (await sendEvents(ids.splice(0, rate * (seconds + leadSeconds)))).delivered,
    }));
    return { ...figures, profile };
  }
  const profile = await profileStep(scene, () =>
    step(scene, { ...creates, exchange, pid: server.pid }),
  );
  return { ...figures, profile };
}
