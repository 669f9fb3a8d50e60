// Terminals that wait on streams of events, and the provider that sends them, in one process: one clock for both ends.
import { Agent, request } from 'node:https';
import { connect } from 'node:tls';
import { createHistogram } from '../report/histogram.ts';
import { createArrivalTimes, createRandom } from '../sales/request-schedule.ts';
import type { FromQrTerminals, QrWait, ToQrTerminals } from './qr-messages.ts';

const openAtOnce = 32;
const curves = 'X25519:P-256';
const patienceMs = 10_000;
const tickMs = 2;
const qrBase = '/qrcode-payment/v1/transactions';

type Server = { host: string; port: number; ca: string; authority: string };

const sentAt = new Map<string, number>();
let onEvent: (transactionId: string) => void = () => {};
let open = 0;
let lost = 0;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A terminal's own stream: resolves when the answer has begun. */
function wait(server: Server, { transactionId, token }: QrWait): Promise<void> {
  return new Promise((resolve, reject) => {
    const { host, port, ca, authority } = server;
    // As terminals in the field have them: key shares of post-quantum schemes are longer, and kept.
    const socket = connect({ host, port, ca, servername: 'localhost', ecdhCurve: curves });
    socket.setEncoding('latin1');
    socket.once('secureConnect', () => {
      socket.write(
        `GET ${qrBase}/${transactionId}/events HTTP/1.1\r\nHost: ${authority}\r\n` +
          `Authorization: Bearer ${token}\r\nAccept: text/event-stream\r\n\r\n`,
      );
    });
    let hasBegun = false;
    socket.on('data', (text: string) => {
      if (!hasBegun && !text.startsWith('HTTP/1.1 200')) reject(new Error(text.slice(0, 200)));
      if (!hasBegun) resolve();
      hasBegun = true;
      if (text.includes('event: qr.scanned')) onEvent(transactionId);
    });
    socket.on('error', reject);
    open += 1;
    socket.on('close', () => {
      open -= 1;
      lost += 1;
    });
  });
}

async function openAll(server: Server, waits: readonly QrWait[]): Promise<number> {
  const beganMs = performance.now();
  for (let at = 0; at < waits.length; at += openAtOnce) {
    await Promise.all(waits.slice(at, at + openAtOnce).map((each) => wait(server, each)));
  }
  return (performance.now() - beganMs) / 1000;
}

type EventsMessage = Extract<ToQrTerminals, { type: 'tell' }>;

/** One event for each payment, at the rate; from the moment at which it is due to the terminal's socket. */
async function sendEvents(
  server: Server,
  { ratePerSecond, ids, lead, token, seed }: EventsMessage,
) {
  const agent = new Agent({ keepAlive: true, maxSockets: 32, ca: server.ca });
  const latencies = createHistogram();
  const acknowledged = createHistogram();
  const errors = new Map<string, number>();
  const waiting = new Set(ids);
  /** The first of a kind open connections and compile what they need: sent, and not counted. */
  const leading = new Set(ids.slice(0, lead));
  const fail = (kind: string) => errors.set(kind, (errors.get(kind) ?? 0) + 1);
  onEvent = (id) => {
    const from = sentAt.get(id);
    if (from === undefined || !waiting.delete(id)) return fail('told twice');
    if (!leading.has(id)) latencies.record(Math.round((performance.now() - from) * 1000));
    return undefined;
  };

  function send(transactionId: string, dueMs: number): void {
    sentAt.set(transactionId, dueMs);
    const body = JSON.stringify({
      eventId: crypto.randomUUID(),
      sequence: 1,
      type: 'payment.scanned',
      occurredAt: new Date().toISOString(),
      providerTransactionId: `P-${transactionId}`,
      status: 'Scanned',
    });
    const clientRequest = request({
      agent,
      host: server.host,
      port: server.port,
      servername: 'localhost',
      method: 'POST',
      path: `${qrBase}/${transactionId}/events`,
      headers: {
        host: server.authority,
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    });
    clientRequest.on('error', (error) => fail(error.message));
    clientRequest.on('response', (response) => {
      response.resume();
      if (response.statusCode !== 202) fail(`status ${response.statusCode}`);
      response.on('end', () => {
        if (leading.has(transactionId)) return;
        acknowledged.record(Math.round((performance.now() - dueMs) * 1000));
      });
    });
    clientRequest.end(body);
  }

  const next = createArrivalTimes(ratePerSecond, createRandom(seed));
  const startMs = performance.now();
  let dueMs = startMs + next();
  for (let at = 0; at < ids.length; ) {
    const nowMs = performance.now();
    for (; at < ids.length && dueMs <= nowMs; dueMs = startMs + next()) {
      send(String(ids[at]), dueMs);
      at += 1;
    }
    await pause(tickMs);
  }
  const seconds = (performance.now() - startMs) / 1000;
  const endMs = performance.now() + patienceMs;
  while (waiting.size > 0 && performance.now() < endMs) await pause(20);
  if (waiting.size > 0) errors.set('never told', waiting.size);
  agent.destroy();
  return {
    delivered: ids.length - waiting.size,
    perSecond: ids.length / seconds,
    p50Us: latencies.percentile(50),
    p99Us: latencies.percentile(99),
    maxUs: latencies.max(),
    acknowledgedP99Us: acknowledged.percentile(99),
    errors: Object.fromEntries(errors),
  };
}

let server: Server | undefined;

async function obey(message: ToQrTerminals): Promise<FromQrTerminals> {
  if (message.type === 'open') {
    server = message.server;
    const seconds = await openAll(server, message.waits);
    return { type: 'opened', open, seconds };
  }
  if (message.type === 'count') return { type: 'counted', open, lost };
  if (server === undefined) throw new Error('nobody waits');
  return { type: 'told', result: await sendEvents(server, message) };
}

process.on('message', (message: ToQrTerminals) => {
  obey(message).then(
    (answer) => process.send?.(answer),
    (error) => process.send?.({ type: 'fault', text: String(error) }),
  );
});
