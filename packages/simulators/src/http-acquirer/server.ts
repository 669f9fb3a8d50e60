// The HTTP server of the reference acquirer: it verifies signatures, decides messages and signs answers.
import { hash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { parseJsonObject, type SpiAnswer, type SpiPath, spiRequests } from '@switchyard/contract';
import { Compile } from 'typebox/compile';
import { type LedgerSnapshot, openLedger } from '../acquirer-host/ledger/ledger.ts';
import { type Clock, systemClock } from '../clock.ts';
import { type HostTls, tlsServerOptions } from '../tls-files.ts';
import { createTwoGenerationCache } from '../two-generation-cache.ts';
import { createSpiDecider, type SpiDecision, type SpiRequest } from './decide-message.ts';
import { createSignatureVerifier, loadSigningKey, signAnswer } from './message-signatures.ts';

/** How to start an {@link HttpAcquirer}. */
export type HttpAcquirerOptions = {
  /** Address to listen on. */
  host: string;
  /** Port to listen on; 0 takes a free one. */
  port: number;
  /** Directory of the ledger and the signing key; made where missing. One acquirer each. */
  ledgerDir: string;
  /** The platform's public keys: the `x` of each. */
  platformKeys: readonly string[];
  /** Delay of the answer to test amount 9092, in milliseconds: later than the other side waits. */
  lateMs: number;
  /** Delay of the answers to test amounts 9097 and 9098, in milliseconds: before the other side gives up. */
  slowMs: number;
  /** Prefix of the paths of the SPI. */
  path?: string;
  /** Certificate and key; without it the acquirer speaks HTTP. */
  tls?: HostTls;
  clock?: Clock;
};

/** An acquirer that listens. */
export type HttpAcquirer = {
  /** The port it listens on. */
  port: number;
  /** Its public key: the `x` of an Ed25519 key. */
  publicKey: string;
  /** The ledger at this moment. */
  ledger(): LedgerSnapshot;
  /** Whether the acquirer accepts payments; initially it does. */
  setReady(isReady: boolean): void;
  /** Closes all connections, the ledger and the port. */
  stop(): Promise<void>;
};

const bodyBytesMax = 65_536;
/** Limit of remembered messages; the acquirer rejects different content under the same `messageId`. */
const fingerprintsMax = 50_000;
const delayedMax = 10_000;
const connectionsMax = 1024;

const checks = new Map(
  Object.entries(spiRequests).map(([path, schema]) => [path, Compile(schema)]),
);

type HttpReply = { status: number; body: object };

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bodyBytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const parseObject = (body: Buffer): Record<string, unknown> | undefined =>
  parseJsonObject(body.toString('utf8'));

function notProcessed(status: number, message: unknown, detail: string): HttpReply {
  const givenMessageId = (message as { messageId?: unknown } | undefined)?.messageId;
  const messageId = typeof givenMessageId === 'string' ? givenMessageId : 'unknown';
  return { status, body: { messageId, outcome: 'NotProcessed', detail } satisfies SpiAnswer };
}

/** A hash of a message without the fields that a repeat may change. */
function fingerprintOf(path: string, message: Record<string, unknown>): string {
  const { repeat: _repeat, sentAt: _sentAt, ...rest } = message;
  const members = Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', path + JSON.stringify(members), 'base64');
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

/** Answers messages that have a valid signature. */
function createMessageHandler(options: HttpAcquirerOptions, clock: Clock) {
  const ledger = openLedger({ directory: options.ledgerDir });
  const decider = createSpiDecider({ ledger, clock });
  const fingerprints = createTwoGenerationCache<string>();
  const requestedAmounts = createTwoGenerationCache<{ amount: number; currency: string }>();
  const pendingUntil = new Map<string, number>();
  let isReady = true;
  let remembered = 0;

  function isNewOrRepeated(
    path: string,
    message: Record<string, unknown>,
    messageId: string,
  ): boolean {
    const fingerprint = fingerprintOf(path, message);
    const earlierFingerprint = fingerprints.get(messageId);
    if (earlierFingerprint !== undefined) return earlierFingerprint === fingerprint;
    remembered += 1;
    if (remembered >= fingerprintsMax) {
      fingerprints.rotate();
      requestedAmounts.rotate();
      remembered = 0;
    }
    fingerprints.set(messageId, fingerprint);
    const { amount, currency } = message;
    requestedAmounts.set(messageId, { amount: Number(amount), currency: String(currency) });
    return true;
  }

  const isPending = (messageId: string): boolean => {
    const until = pendingUntil.get(messageId);
    if (until === undefined) return false;
    if (clock.now() < until) return true;
    pendingUntil.delete(messageId);
    return false;
  };

  function enquire(messageId: string): HttpReply {
    if (isPending(messageId)) return { status: 200, body: { messageId, outcome: 'Pending' } };
    const answer = decider.find(messageId, requestedAmounts.get(messageId));
    if (answer !== undefined) return { status: 200, body: answer };
    return { status: 404, body: { messageId, outcome: 'NotFound' } satisfies SpiAnswer };
  }

  function answerDecision({
    answer,
    delivery,
  }: SpiDecision): HttpReply & { delivery: SpiDecision['delivery'] } {
    ledger.flush();
    if (delivery === 'pending' && pendingUntil.size < delayedMax) {
      pendingUntil.set(answer.messageId, clock.now() + options.slowMs);
    }
    if (!isPending(answer.messageId)) return { status: 200, body: answer, delivery };
    const body = { messageId: answer.messageId, outcome: 'Pending' } satisfies SpiAnswer;
    return { status: 202, body, delivery: 'once' };
  }

  return {
    ledger,
    setReady: (value: boolean) => {
      isReady = value;
    },
    handle(path: string, body: Buffer): HttpReply & { delivery: SpiDecision['delivery'] } {
      const once = (reply: HttpReply) => ({ ...reply, delivery: 'once' as const });
      const message = parseObject(body);
      const check = checks.get(path as SpiPath);
      if (check === undefined) return once(notProcessed(404, message, 'the path is unknown'));
      if (message === undefined)
        return once(notProcessed(400, message, 'the body is not a JSON object'));
      if (!check.Check(message)) {
        const [error] = check.Errors(message);
        const where = error === undefined ? '' : ` at ${error.instancePath}`;
        return once(notProcessed(400, message, `the message is malformed${where}`));
      }
      if (path === '/v1/echo') {
        return once({ status: 200, body: { status: isReady ? 'Ready' : 'Closed' } });
      }
      const messageId = String(message['messageId']);
      if (path === '/v1/enquiries') return once(enquire(messageId));
      if (!isReady) return once(notProcessed(503, message, 'the acquirer accepts no payments now'));
      if (!isNewOrRepeated(path, message, messageId)) {
        return once(notProcessed(409, message, 'another message has this messageId'));
      }
      return answerDecision(decider.decide({ path, message } as unknown as SpiRequest));
    },
  };
}

/**
 * Starts a reference acquirer of the HTTP/JSON acquirer SPI. Test amounts and test cards are those of the acquirer host; 9097 is pending for `slowMs`.
 *
 * @param options address, directory, the platform's keys, delays in milliseconds
 * @throws Error when the port is taken or the ledger cannot be read
 * @example
 * ```ts
 * const acquirer = await startHttpAcquirer({
 *   host: '127.0.0.1', port: 0, ledgerDir, platformKeys: [x], lateMs: 35_000, slowMs: 8_000,
 * });
 * acquirer.publicKey; // the platform verifies answers with it
 * await acquirer.stop();
 * ```
 */
export async function startHttpAcquirer(options: HttpAcquirerOptions): Promise<HttpAcquirer> {
  const { clock = systemClock, path: prefix = '' } = options;
  const signingKey = loadSigningKey(options.ledgerDir);
  const check = createSignatureVerifier(options.platformKeys);
  const handler = createMessageHandler(options, clock);
  const timers = new Set<NodeJS.Timeout>();

  function write(response: ServerResponse, reply: HttpReply, signature: string, garbled: boolean) {
    const body = JSON.stringify(reply.body);
    const { status } = reply;
    const headers = signAnswer(signingKey, {
      status,
      body,
      now: clock.now(),
      requestSignature: signature,
    });
    const sent = garbled ? body.replace('"', "'") : body;
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(sent);
  }

  function sendLater(delayMs: number, act: () => void): void {
    if (timers.size >= delayedMax) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      act();
    }, delayMs);
    timers.add(timer);
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const { method = '', url = '', headers } = request;
    if (body === undefined) {
      response.writeHead(413).end();
      return;
    }
    const signatureCheck = check({ method, path: url, headers, body }, clock.now());
    if (!signatureCheck.isGenuine || !url.startsWith(prefix)) {
      const detail = signatureCheck.isGenuine ? 'the path is unknown' : signatureCheck.detail;
      const reply = notProcessed(signatureCheck.isGenuine ? 404 : 401, undefined, detail);
      response.writeHead(reply.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(reply.body));
      return;
    }
    const { delivery, ...reply } = handler.handle(url.slice(prefix.length), body);
    const sendReply = () =>
      write(response, reply, signatureCheck.signature, delivery === 'garbled');
    if (delivery === 'late' || delivery === 'slow') {
      sendLater(delivery === 'late' ? options.lateMs : options.slowMs, sendReply);
    } else if (delivery === 'close') request.socket.destroy();
    else if (delivery !== 'never') sendReply();
  }

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    // An interrupted request is not a message. Where the ledger cannot be written, the acquirer sends no answer.
    serve(request, response).catch(() => request.socket.destroy());
  };
  const { tls } = options;
  const server =
    tls === undefined ? createServer(answer) : createTlsServer(tlsServerOptions(tls), answer);
  server.maxConnections = connectionsMax;

  async function stop(): Promise<void> {
    for (const timer of timers) clearTimeout(timer);
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
    handler.ledger.close();
  }

  try {
    const port = await listen(server, options.host, options.port);
    const { ledger, setReady } = handler;
    return { port, publicKey: signingKey.x, ledger: ledger.snapshot, setReady, stop };
  } catch (error) {
    handler.ledger.close();
    throw error;
  }
}
