// The TCP server of the acquirer host.
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { defined } from '@switchyard/contract';
import {
  builtInHosts,
  compileHost,
  type Frame,
  type HostTable,
  type Message,
} from '@switchyard/iso8583';
import { type Clock, systemClock } from '../clock.ts';
import { type HostTls, tlsServerOptions } from '../tls-files.ts';
import { watchClearingFolders } from './clearing/clearing-folders.ts';
import { createClearingProcessor } from './clearing/process-clearing-file.ts';
import {
  type HostKeys,
  type KeyOffer,
  type KeyUse,
  openKeyRing,
} from './connection/exchange-keys.ts';
import { createMessageFraming, type MessageFraming } from './connection/message-framing.ts';
import { type AnswersAfterLedgerWrite, createAnswerQueue } from './connection/send-answers.ts';
import {
  createResponseChanger,
  type ResponseChanges,
  responseChangesOf,
} from './decisions/change-response.ts';
import {
  type ConnectionSession,
  createMessageDecider,
  type HostDecision,
} from './decisions/decide-message.ts';
import { functionAfterAnswer, sendsNewKeys } from './decisions/test-amounts-and-cards.ts';
import { type LedgerSnapshot, openLedger } from './ledger/ledger.ts';

/** Log of connections and faults; a pino logger fits. */
export type HostLog = {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
};

/** How to start an {@link AcquirerHost}. */
export type AcquirerHostOptions = {
  /** Address to listen on. */
  host: string;
  /** Port to listen on; 0 takes a free one. */
  port: number;
  /** Directory of the ledger; created where missing, replayed where not empty. For one host only. */
  ledgerDir: string;
  /** Delay of the answer to test amount 9092, in milliseconds: later than the other side waits. */
  lateMs: number;
  /** Delay of the answer to test amount 9098, in milliseconds: before the other side gives up. */
  slowMs: number;
  /** Delay of every other answer, in milliseconds, as of a host that is far away. Default: 0. */
  answerMs?: number;
  /** By how many percent of the approved amount captures can exceed it, in whole percent. Default: 0. */
  overCapturePercent?: number;
  /** Entries of one ledger file; the entries of two files are in memory. Default: 10,000. */
  segmentEntries?: number;
  /** The host table; default: ISO 8583:1987, packed, DE55 in bytes. */
  dialect?: HostTable;
  /** How responses differ from a repetition of the request; default: as the host table allows. */
  responses?: ResponseChanges;
  /** Keys for PIN blocks, message authentication and key exchange. */
  keys?: HostKeys;
  /** Certificate and key; without it the host speaks TCP without TLS. */
  tls?: HostTls;
  log?: HostLog;
  clock?: Clock;
};

/** A host that listens. */
export type AcquirerHost = {
  /** The port it listens on. */
  port: number;
  /** The ledger at this moment. */
  ledger(): LedgerSnapshot;
  /** Processes a clearing file, captures each line once, and returns the acknowledgement. */
  clear(file: string): string;
  /** Sends a new key to the connection that is signed on; the host uses it after the other side accepted it. */
  changeKey(use: KeyUse): void;
  /** Closes all connections, the ledger and the port. */
  stop(): Promise<void>;
};

const connectionsMax = 1024;
/** Limit of delayed answers; the host never sends those above it. */
const delayedAnswersMax = 10_000;
/** A garbled answer keeps its message type and bitmap. */
const garbledFrom = 10;

const noLog: HostLog = { info() {}, warn() {} };

function garble(frame: Buffer): Buffer {
  return frame.map((byte, at) => (at < garbledFrom ? byte : byte ^ 0xff)) as Buffer;
}

/** The answer with another amount (DE4) than its request. */
function withOtherAmount({ mti, fields }: Message): Message {
  const { 4: amount = '' } = fields;
  return { mti, fields: { ...fields, 4: String(Number(amount) + 1).padStart(amount.length, '0') } };
}

/** A connection of the other side. */
type Peer = { socket: Socket; framing: MessageFraming; session: ConnectionSession; name: string };

type AnswerSender = {
  /** Answers a request; `header` is the header of the request. */
  send(peer: Peer, decision: HostDecision, header: Buffer): void;
  stop(): void;
};

/** Sends each answer as its rule requires. */
function createAnswerSender(deps: {
  outbox: AnswersAfterLedgerWrite;
  lateMs: number;
  slowMs: number;
  answerMs: number;
}): AnswerSender {
  const { outbox, answerMs } = deps;
  const timers = new Set<NodeJS.Timeout>();

  function later(socket: Socket, frame: Buffer, delayMs: number): void {
    if (timers.size >= delayedAnswersMax) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      outbox.send(socket, frame);
    }, delayMs);
    timers.add(timer);
  }

  function soon(socket: Socket, frame: Buffer): void {
    if (answerMs === 0) outbox.send(socket, frame);
    else later(socket, frame, answerMs);
  }

  return {
    send({ socket, framing: wire }, { answer, delivery }, header) {
      const bytes = wire.write(delivery === 'other-amount' ? withOtherAmount(answer) : answer);
      const frame = wire.frame(delivery === 'garbled' ? garble(bytes) : bytes, header);
      if (delivery === 'late' || delivery === 'slow') {
        later(socket, frame, delivery === 'late' ? deps.lateMs : deps.slowMs);
      }
      if (['once', 'twice', 'garbled', 'other-amount'].includes(delivery)) {
        soon(socket, frame);
      }
      if (delivery === 'twice') soon(socket, frame);
      if (delivery === 'close') outbox.disconnect(socket);
      outbox.scheduleFlush();
    },
    stop() {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
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

const SIGN_OFF = '002';
const RETRIEVAL_REFERENCE = 37;
const KEY_REQUEST = '161';
const KEY_CHANGE = '101';
const APPROVED = '00';
const paymentMti = /^0[12]00$/;
const uses = ['P', 'M'] as const;
/** Limit of unanswered offers, so that endless key requests do not use up the memory. */
const waitingOffersMax = 16;

type HostRequestSender = (peer: Peer, fields: Message['fields']) => string;

/** Sends network management requests of the host; each call returns the trace number of its request. */
function createHostRequests(deps: {
  outbox: AnswersAfterLedgerWrite;
  clock: Clock;
  traceDigits: number;
}): HostRequestSender {
  const { outbox, clock, traceDigits } = deps;
  let trace = 0;
  return ({ socket, framing: wire }, fields) => {
    trace += 1;
    const number = `9${String(trace).padStart(traceDigits - 1, '0')}`;
    const sent = new Date(clock.now()).toISOString().slice(5, 19).replace(/\D/g, '');
    const message = { mti: '0800', fields: { 7: sent, 11: number, ...fields } };
    outbox.send(socket, wire.frame(wire.write(message)));
    return number;
  };
}

/** Sends new keys to the other side and waits for its answer. */
function createKeyOffers(ring: ReturnType<typeof openKeyRing>, sendRequest: HostRequestSender) {
  const unanswered = new Map<string, KeyOffer>();

  return {
    offer(peer: Peer, use: KeyUse): void {
      const offer = ring.offer(use);
      if (offer === undefined) return;
      unanswered.set(sendRequest(peer, { 48: offer.text, 70: KEY_CHANGE }), offer);
      const [oldest] = unanswered.keys();
      if (unanswered.size > waitingOffersMax && oldest !== undefined) unanswered.delete(oldest);
    },
    receiveAnswer({ fields }: Message): void {
      const offer = unanswered.get(fields[11] ?? '');
      if (offer === undefined) return;
      unanswered.delete(fields[11] ?? '');
      if (fields[39] === APPROVED) offer.accept();
    },
  };
}

/**
 * Starts an acquirer host that speaks ISO 8583 as its host table describes; default: 1987, packed. It answers as
 * soon as the entry is written, without delays except `answerMs` and those of test amounts. It closes a connection that sends
 * an invalid frame or message.
 *
 * @param options address, ledger directory, delays in milliseconds
 * @throws Error when the port is taken or the ledger cannot be read
 * @example
 * ```ts
 * const host = await startAcquirerHost({
 *   host: '127.0.0.1', port: 0, ledgerDir, lateMs: 35_000, slowMs: 8_000,
 * });
 * host.ledger().totals;
 * await host.stop();
 * ```
 */
export async function startAcquirerHost(options: AcquirerHostOptions): Promise<AcquirerHost> {
  const { clock = systemClock, log = noLog } = options;
  const { segmentEntries, overCapturePercent } = options;
  const ledger = openLedger({
    directory: options.ledgerDir,
    ...defined({ segmentEntries }),
  });
  const table: HostTable = options.dialect ?? builtInHosts['iso1987-binary'];
  const compiledHost = compileHost(table, { now: () => clock.now() });
  const { keys = {}, ledgerDir: directory } = options;
  const ring = openKeyRing({ directory, keys, mac: table.mac });
  const originalBy = table.originalData?.time ?? 'Transmission';
  const givesKeys = keys.zoneMaster !== undefined;
  const pinKeys = () => ring.keysFor('P');
  const { responses = responseChangesOf(table) } = options;
  const changeResponse = createResponseChanger(table, responses);
  const decider = createMessageDecider({
    ledger,
    clock,
    originalBy,
    pinKeys,
    givesKeys,
    assignedReferenceLength:
      responses.assignsRetrievalReference === true
        ? table.messages.fields[RETRIEVAL_REFERENCE]?.max
        : undefined,
    ...defined({ overCapturePercent, signOnBy: table.network.signOnBy }),
  });
  const onFault = (error: unknown) => log.warn({ err: error }, 'the ledger cannot be written');
  const outbox = createAnswerQueue({ flush: ledger.flush, onFault });
  const { capture } = decider;
  const clearing = createClearingProcessor({ directory, capture, flush: ledger.flush });
  const clearingFolders = watchClearingFolders({
    directory: join(directory, 'clearing'),
    desk: clearing,
    onFault: (error, file) => log.warn({ err: error, file }, 'not a clearing file'),
  });
  const { lateMs, slowMs, answerMs = 0 } = options;
  const sender = createAnswerSender({ outbox, lateMs, slowMs, answerMs });
  const { digits: traceDigits } = table.traceNumber;
  const sendRequest = createHostRequests({ outbox, clock, traceDigits });
  const offers = createKeyOffers(ring, sendRequest);
  const peers = new Set<Peer>();

  function receive(peer: Peer, { payload, header }: Frame): void {
    // An empty frame is a heartbeat.
    if (payload.length === 0) return;
    const message = peer.framing.read(payload);
    offers.receiveAnswer(message);
    const decision = decider.decide(message, peer.session);
    if (decision !== undefined) {
      const answer = changeResponse(decision.answer);
      sender.send(peer, { ...decision, answer }, header);
    }
    const { mti, fields } = message;
    const isPayment = paymentMti.test(mti);
    const networkFunction = isPayment ? functionAfterAnswer(Number(fields[4])) : undefined;
    if (networkFunction !== undefined) sendRequest(peer, { 70: networkFunction });
    if (networkFunction === SIGN_OFF) peer.session.isSignedOn = false;
    const isNewKeysPayment = isPayment && sendsNewKeys(Number(fields[4]));
    if (fields[70] !== KEY_REQUEST && !isNewKeysPayment) return;
    for (const use of uses) if (use === 'P' || table.mac !== undefined) offers.offer(peer, use);
  }

  function accept(socket: Socket): void {
    const name = `${socket.remoteAddress}:${socket.remotePort}`;
    const framing = createMessageFraming({ host: compiledHost, ring });
    const peer: Peer = { socket, framing, session: { isSignedOn: false }, name };
    peers.add(peer);
    log.info({ peer: name }, 'connected');
    socket.on('data', (chunk) => {
      try {
        for (const frame of framing.push(chunk)) receive(peer, frame);
      } catch (error) {
        log.warn({ peer: name, err: error }, 'invalid message: the host closes the connection');
        outbox.disconnect(socket);
        socket.pause();
      }
    });
    // A reset is followed by `close`.
    socket.on('error', () => {});
    socket.on('close', () => {
      peers.delete(peer);
      log.info({ peer: name }, 'disconnected');
    });
  }

  const { tls } = options;
  const server =
    tls === undefined
      ? createServer({ noDelay: true }, accept)
      : createTlsServer({ ...tlsServerOptions(tls), noDelay: true }, accept);
  server.on('tlsClientError', (error: Error) => {
    log.warn({ err: error }, 'the host refuses a connection: the TLS handshake failed');
  });
  server.maxConnections = connectionsMax;

  async function stop(): Promise<void> {
    clearingFolders.stop();
    sender.stop();
    outbox.flushNow();
    for (const { socket } of peers) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    ledger.close();
  }

  try {
    const port = await listen(server, options.host, options.port);
    const changeKey = (use: KeyUse) => {
      const acceptsAll = table.network.signOnBy === 'None';
      const signedOn = [...peers].find(({ session }) => acceptsAll || session.isSignedOn);
      if (signedOn !== undefined) offers.offer(signedOn, use);
    };
    return { port, ledger: ledger.snapshot, clear: clearing.process, changeKey, stop };
  } catch (error) {
    clearingFolders.stop();
    ledger.close();
    throw error;
  }
}
