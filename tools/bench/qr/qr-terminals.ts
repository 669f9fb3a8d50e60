// Terminals that wait on streams of events, and the provider that sends them, in one process: one clock for both ends.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'node:tls';
import { offerFunctions } from '../bench-process.ts';
import {
  loopback,
  sendRequest,
  serverName,
  type Target,
} from '../environment/send-single-request.ts';
import { createLatencyHistogram } from '../report/latency-histogram.ts';
import { writeRequest } from '../sales/http-text.ts';
import { createArrivalTimes, createRandom } from '../sales/request-schedule.ts';

const openAtOnce = 32;
/** As terminals in the field have them: key shares of post-quantum schemes are longer, and kept. */
const curves = 'X25519:P-256';
const patienceMs = 10_000;
const tickMs = 2;
const qrPath = '/qrcode-payment/v1/transactions';

/** A payment, and the token of the terminal that waits for it. */
export type QrWait = { transactionId: string; token: string };

export type EventDelays = {
  delivered: number;
  perSecond: number;
  /** From the moment at which the provider's event was due to its arrival at the terminal. */
  p50Us: number;
  p99Us: number;
  maxUs: number;
  /** From the same moment to the acknowledgement that the provider gets. */
  acknowledgedP99Us: number;
  errors: Record<string, number>;
};

type EventOrder = {
  target: Target;
  ratePerSecond: number;
  ids: string[];
  /** So many of the first are not counted. */
  lead: number;
  token: string;
  seed: number;
};

let onEvent: (transactionId: string) => void = () => {};
let openStreams = 0;

/** A terminal's own stream: resolves when the answer has begun. */
function openStream(target: Target, { transactionId, token }: QrWait): Promise<void> {
  return new Promise((resolve, reject) => {
    const { port, ca, authority } = target;
    const server = { host: loopback, port, ca, servername: serverName };
    const socket = connect({ ...server, ecdhCurve: curves });
    socket.setEncoding('latin1');
    socket.once('secureConnect', () => {
      const path = `${qrPath}/${transactionId}/events`;
      socket.write(writeRequest(authority, { path, token, accept: 'text/event-stream' }));
    });
    let hasBegun = false;
    socket.on('data', (text: string) => {
      if (!hasBegun && !text.startsWith('HTTP/1.1 200')) reject(new Error(text.slice(0, 200)));
      if (!hasBegun) resolve();
      hasBegun = true;
      if (text.includes('event: qr.scanned')) onEvent(transactionId);
    });
    socket.on('error', reject);
    openStreams += 1;
    socket.on('close', () => {
      openStreams -= 1;
    });
  });
}

const eventBody = (transactionId: string): string =>
  JSON.stringify({
    eventId: randomUUID(),
    sequence: 1,
    type: 'payment.scanned',
    occurredAt: new Date().toISOString(),
    providerTransactionId: `P-${transactionId}`,
    status: 'Scanned',
  });

/** One event for each payment, at the rate; from the moment at which it is due to the terminal's socket. */
async function sendEvents(order: EventOrder): Promise<EventDelays> {
  const { target, ratePerSecond, ids, lead, token, seed } = order;
  const latencies = createLatencyHistogram();
  const acknowledged = createLatencyHistogram();
  const errors: Record<string, number> = {};
  const dueAt = new Map<string, number>();
  const waiting = new Set(ids);
  /** The first of a kind open connections and compile code: sent, and not counted. */
  const leading = new Set(ids.slice(0, lead));
  const fail = (kind: string) => {
    errors[kind] = (errors[kind] ?? 0) + 1;
  };
  onEvent = (id) => {
    const dueMs = dueAt.get(id);
    if (dueMs === undefined || !waiting.delete(id)) fail('delivered twice');
    else if (!leading.has(id)) latencies.record(performance.now() - dueMs);
  };

  async function send(transactionId: string, dueMs: number): Promise<void> {
    dueAt.set(transactionId, dueMs);
    const path = `${qrPath}/${transactionId}/events`;
    const body = eventBody(transactionId);
    const request = { method: 'POST', path, token, contentType: 'application/json', body } as const;
    const { status } = await sendRequest(target, request);
    if (status !== 202) fail(`status ${status}`);
    if (!leading.has(transactionId)) acknowledged.record(performance.now() - dueMs);
  }

  const next = createArrivalTimes(ratePerSecond, createRandom(seed));
  const startMs = performance.now();
  let dueMs = startMs + next();
  for (let at = 0; at < ids.length; ) {
    const nowMs = performance.now();
    for (; at < ids.length && dueMs <= nowMs; dueMs = startMs + next()) {
      send(String(ids[at]), dueMs).catch((error: unknown) => fail(String(error)));
      at += 1;
    }
    await pause(tickMs);
  }
  const seconds = (performance.now() - startMs) / 1000;
  const endMs = performance.now() + patienceMs;
  while (waiting.size > 0 && performance.now() < endMs) await pause(20);
  if (waiting.size > 0) errors['never delivered'] = waiting.size;
  return {
    delivered: ids.length - waiting.size,
    perSecond: ids.length / seconds,
    p50Us: latencies.percentileUs(50),
    p99Us: latencies.percentileUs(99),
    maxUs: latencies.maxUs(),
    acknowledgedP99Us: acknowledged.percentileUs(99),
    errors,
  };
}

const functions = {
  /** Gives the seconds until all of them waited. */
  async open({ target, waits }: { target: Target; waits: QrWait[] }): Promise<number> {
    const beganMs = performance.now();
    for (let at = 0; at < waits.length; at += openAtOnce) {
      const some = waits.slice(at, at + openAtOnce);
      await Promise.all(some.map((each) => openStream(target, each)));
    }
    return (performance.now() - beganMs) / 1000;
  },
  countStreams: (): number => openStreams,
  sendEvents,
};
export type QrTerminalFunctions = typeof functions;

offerFunctions(functions);
