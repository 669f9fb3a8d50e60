// `bench qr`: payments by code at a rate, thousands of terminals that wait, and events from the provider to them.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { defined } from '@switchyard/contract';
import type { BenchOptions } from '../bench-options.ts';
import { type BenchProcess, startProcess } from '../bench-process.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { readCpu } from '../report/process-times.ts';
import { profileStep } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import { mebibytes, milliseconds } from '../report/report-table.ts';
import { targets } from '../report/targets.ts';
import { type HttpResponse, writeRequest } from '../sales/http-text.ts';
import {
  askOnce,
  type HttpsConnections,
  openHttpsConnections,
} from '../sales/https-connections.ts';
import {
  type CostedStep,
  describeStep,
  type PrintLine,
  runMeasuredStep,
} from '../sales/measured-step.ts';
import { createRandom } from '../sales/request-schedule.ts';
import {
  openQrEnvironment,
  paymentType,
  type QrEnvironment,
  type QrTerminal,
} from './qr-environment.ts';
import { type QrStep, reportQr, type WaitingFigures } from './qr-report.ts';
import type { QrTerminalFunctions, QrWait } from './qr-terminals.ts';

type Terminals = BenchProcess<QrTerminalFunctions>;

const qrPath = '/qrcode-payment/v1/transactions';
const warmUpSeconds = 3;
const leadSeconds = 2;
const settleMs = 10_000;
const idleMs = 10_000;

function createText(authority: string, { token }: QrTerminal): string {
  const body = JSON.stringify({
    paymentType,
    paymentScenario: 'consumerscan',
    clientTransactionId: randomUUID(),
    paymentAmount: { amount: 1050, currency: 'EUR' },
  });
  return writeRequest(authority, { method: 'POST', path: qrPath, token, body });
}

const faultOf = ({ status }: HttpResponse) => (status === 200 ? undefined : `status ${status}`);

/** @param pid of the server or of its baseline */
async function runCreates(
  environment: QrEnvironment,
  connections: HttpsConnections,
  pid: number,
  { seconds, seed }: { seconds: number; seed: number },
): Promise<CostedStep> {
  const random = createRandom(seed);
  const { server, platform, providerPid, terminals } = environment;
  const watched = { server: pid, postgres: platform.postgresPid, simulator: providerPid };
  return runMeasuredStep(connections, watched, {
    ratePerSecond: targets.qr.createsPerSecond,
    seconds,
    random,
    request() {
      const terminal = terminals[Math.floor(random() * terminals.length)];
      if (terminal === undefined) throw new Error('there are no terminals');
      return { text: createText(server.target.authority, terminal), faultOf };
    },
  });
}

function qrStep({ cpuUs, ...result }: CostedStep): QrStep {
  const { server: serverUs, postgres: postgresUs, simulator: providerUs } = cpuUs;
  return { ...result, serverUs, postgresUs, providerUs };
}

/** A payment for each terminal, which its consumer does not scan yet. */
async function beginAll(
  { server, terminals }: QrEnvironment,
  connections: HttpsConnections,
): Promise<QrWait[]> {
  const waits: QrWait[] = [];
  const remaining = [...terminals];
  async function begin(): Promise<void> {
    for (let terminal = remaining.pop(); terminal !== undefined; terminal = remaining.pop()) {
      const { status, body } = await askOnce(
        connections,
        createText(server.target.authority, terminal),
      );
      if (status !== 200) throw new Error(`no QR payment: ${status} ${body}`);
      const transactionId = String(JSON.parse(body).transactionId);
      waits.push({ transactionId, token: terminal.token });
    }
  }
  await Promise.all(Array.from({ length: connections.idle() }, begin));
  return waits;
}

async function benchWaiting(
  { server }: QrEnvironment,
  terminals: Terminals,
  waits: QrWait[],
): Promise<WaitingFigures> {
  const { memory, target, pid } = server;
  const before = memory.now();
  const openSeconds = await terminals.call('open', { target, waits });
  const after = memory.now();
  await pause(settleMs);
  const cpuMs = () => readCpu({ server: pid, postgres: 0 }).server;
  const from = cpuMs();
  await pause(idleMs);
  const idleCores = (cpuMs() - from) / idleMs;
  const lost = waits.length - (await terminals.call('countStreams', undefined));
  const settled = memory.now();
  return { terminals: waits.length, before, after, settled, openSeconds, lost, idleCores };
}

export async function benchQr(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<BenchResult> {
  const { seconds, seed, rate } = options;
  printLine(`making ${options.terminals.toLocaleString('en')} terminals, and a provider …`);
  const environment = await openQrEnvironment(closers, options);
  const { server, platform, providerPid, providerToken } = environment;
  const connections = await openHttpsConnections(server.target, options.connections);
  const bareConnections = await openHttpsConnections(
    environment.baselineTarget,
    options.connections,
  );
  closers.add(async () => {
    connections.close();
    bareConnections.close();
  });
  const creates = (length: number) =>
    runCreates(environment, connections, server.pid, { seconds: length, seed });
  printLine('warming up …');
  await creates(warmUpSeconds);
  const waits = await beginAll(environment, connections);
  const terminals = startProcess<QrTerminalFunctions>(
    closers,
    new URL('./qr-terminals.ts', import.meta.url),
  );
  const waiting = await benchWaiting(environment, terminals, waits);
  printLine(`${waits.length} terminals wait: ${mebibytes(waiting.settled)}`);
  const unsent = waits.map(({ transactionId }) => transactionId);
  const sendEvents = () =>
    terminals.call('sendEvents', {
      target: server.target,
      ratePerSecond: rate,
      ids: unsent.splice(0, rate * (seconds + leadSeconds)),
      lead: rate * leadSeconds,
      token: providerToken,
      seed,
    });
  const events = await sendEvents();
  printLine(`events to terminals: p99 ${milliseconds(events.p99Us)}`);
  // Last: unpaid payments lapse after three minutes, and the server queries the provider about each.
  const baseline = await runCreates(environment, bareConnections, providerPid, { seconds, seed });
  printLine(describeStep('baseline', baseline));
  const made = await creates(seconds);
  printLine(describeStep('creates', made));
  const profiled = () =>
    unsent.length > 0
      ? sendEvents().then(({ delivered }) => ({ answered: delivered }))
      : creates(seconds);
  const profile = options.profile ? await profileStep(platform, server.pid, profiled) : undefined;
  const figures = { baseline: qrStep(baseline), creates: qrStep(made), waiting, events };
  return reportQr({ ...figures, ...defined({ profile }) });
}
