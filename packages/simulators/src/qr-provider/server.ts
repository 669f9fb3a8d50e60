// The HTTP server of the reference provider.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import {
  createProviderCallHandler,
  type ProviderCall,
  type ProviderResponse,
  providerPaths,
  type QrDisplay,
} from '@switchyard/sdk-provider';
import { type Clock, systemClock } from '../clock.ts';
import {
  changeIncomingCall,
  changeOutgoingReply,
  type FaultMode,
  type IsBroken,
  jsonReply,
} from './fault-modes.ts';
import { openPaymentJournal } from './payment-journal.ts';
import { ledgerOf, type QrLedger } from './payment-ledger.ts';
import { createReferenceProvider } from './payment-operations.ts';
import {
  platformAccountsForConformance,
  platformAccountsFromFile,
  platformAccountsFromSettings,
  type QrPlatformSettings,
} from './platform-accounts.ts';
import { createPaymentStepRunner } from './run-payment-steps.ts';
import { createAnswerSender } from './send-answer.ts';
import { createEventSender } from './send-events.ts';

/** How to start a {@link QrProviderServer}. */
export type QrProviderOptions = {
  /** Address to listen on. */
  host: string;
  /** Port to listen on; 0 takes a free one. */
  port: number;
  /** Directory of the payments; created where missing. For one provider only. */
  dataDir: string;
  /** The platform: its settings, a file that is read again when it changes, or `check` for conformance checks. */
  platform: QrPlatformSettings | { readonly file: string } | 'check';
  /** Prefix of the paths of the SPI. */
  path?: string;
  /** The type of the display; a test amount may select another one. */
  display?: QrDisplay['type'];
  /** The pause between two steps of a payment, milliseconds. */
  stepMs?: number;
  /** Delay of late answers, in milliseconds. */
  lateMs?: number;
  /** The pauses between attempts to send an event; default: 1, 2, 5, 10, 30 minutes. */
  retryMs?: readonly number[];
  broken?: FaultMode;
  clock?: Clock;
  /** Receives warnings: unsent events, a platform file that cannot be read. */
  warn?: (message: string) => void;
};

/** A reference provider that listens. */
export type QrProviderServer = {
  /** The port it listens on. */
  port: number;
  /** The `spiUrl` of the service. */
  url: string;
  /** The ledger at this moment. */
  ledger(): QrLedger;
  /** Sets the fault mode; undefined ends it. */
  setBroken(mode: FaultMode | undefined): void;
  /** Whether the provider rejects all payments; stored across restarts. */
  setDown(isDown: boolean): void;
  /** Closes all connections, waits for events that are being sent, closes the port. */
  stop(): Promise<void>;
};

const bodyBytesMax = 65_536;
const connectionsMax = 4096;
const defaultStepMs = 1000;
const defaultLateMs = 12_000;
const downFile = 'down';
const keyFile = 'fingerprint-key';
const keyBytes = 32;
const ownerOnly = 0o600;
const knownIdsMax = 200;

/** Sets whether the provider of this directory rejects all payments. */
export function setQrProviderDown(dataDir: string, isDown: boolean): void {
  const path = join(dataDir, downFile);
  if (isDown) writeFileSync(path, '', { mode: ownerOnly });
  else rmSync(path, { force: true });
}

function fingerprintKeyIn(dataDir: string): Buffer {
  const path = join(dataDir, keyFile);
  if (!existsSync(path))
    writeFileSync(path, randomBytes(keyBytes), { mode: ownerOnly, flag: 'wx' });
  return readFileSync(path);
}

function platformOf({ platform, dataDir }: QrProviderOptions, warn: (message: string) => void) {
  if (platform === 'check') return platformAccountsForConformance(dataDir);
  if ('file' in platform) {
    return platformAccountsFromFile(platform.file, (error) => warn((error as Error).message));
  }
  return platformAccountsFromSettings(platform);
}

/** Undefined where the body is too long. */
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

/** Connects the journal, the steps and the platform, and answers calls. */
function createCallHandler(options: QrProviderOptions, mode: () => FaultMode | undefined) {
  const { dataDir, clock = systemClock, warn = () => {} } = options;
  const { stepMs = defaultStepMs, display = 'image/png' } = options;
  const isBroken: IsBroken = (faultMode) => faultMode === mode();
  const journal = openPaymentJournal(dataDir);
  const platform = platformOf(options, warn);
  const onFault = (error: unknown) => warn(error instanceof Error ? error.message : String(error));
  const shared = { journal, clock, isBroken, onFault };
  const eventSender = createEventSender({ ...shared, platform, retryMs: options.retryMs, warn });
  const { queue, registerEvent } = eventSender;
  const stepRunner = createPaymentStepRunner({ ...shared, queue, registerEvent, display });
  const fingerprintKey = fingerprintKeyIn(dataDir);
  const provider = createReferenceProvider({
    ...shared,
    stepRunner,
    stepMs,
    display,
    fingerprintKey,
  });
  const secrets = () => platform.secrets();
  const answer = createProviderCallHandler({
    provider,
    secrets,
    clock,
    onError: onFault,
  });

  const providerState = () => ({
    isBroken,
    secrets: platform.secrets(),
    now: clock.now(),
    paymentIds: () => [...journal.payments.keys()].slice(-knownIdsMax),
  });

  return {
    journal,
    async start() {
      await queue.start();
      for (const payment of journal.payments.values()) stepRunner.scheduleNextStep(payment);
    },
    async handle(call: ProviderCall): Promise<ProviderResponse> {
      const isDown = existsSync(join(dataDir, downFile));
      if (isDown && call.path === providerPaths.health) return jsonReply(200, { status: 'Down' });
      if (isDown) return jsonReply(503, { code: 'down' });
      if (platform.secrets().length === 0) return jsonReply(503, { code: 'no_platform_yet' });
      if (mode() === undefined) return answer(call);
      const changedCall = changeIncomingCall(call, providerState());
      if ('status' in changedCall) return changedCall;
      return changeOutgoingReply(changedCall, await answer(changedCall), providerState());
    },
    async stop() {
      await stepRunner.stop();
      await queue.stop();
      platform.close();
      journal.close();
    },
  };
}

/**
 * Starts a reference provider of QR payments, for both scenarios: where the consumer scans it shows
 * an EMV merchant-presented code, where the merchant scans it reads what the consumer showed. Test amounts select the course of a payment; the README lists them.
 *
 * @param options address, directory, the platform, delays in milliseconds
 * @throws Error when the port is taken or the directory cannot be read
 * @example
 * ```ts
 * const provider = await startQrProvider({
 *   host: '127.0.0.1', port: 0, dataDir: 'qr-provider', platform: { file: 'platform.json' },
 * });
 * provider.url; // goes into the declaration of the service, as its spiUrl
 * await provider.stop();
 * ```
 */
export async function startQrProvider(options: QrProviderOptions): Promise<QrProviderServer> {
  const { dataDir, host, lateMs = defaultLateMs } = options;
  const prefix = (options.path ?? '').replace(/\/+$/, '');
  let mode = options.broken;
  const isBroken: IsBroken = (faultMode) => faultMode === mode;
  const handler = createCallHandler(options, () => mode);
  const answerSender = createAnswerSender({ lateMs, isBroken });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const { method = '', url = '', headers } = request;
    if (body === undefined) return;
    if (!url.startsWith(prefix)) {
      answerSender.write(response, jsonReply(404, { code: 'address_unknown' }));
      return;
    }
    const call = { method, path: url.slice(prefix.length), headers, body };
    answerSender.deliver(call, await handler.handle(call), response);
  }

  const server = createServer((request, response) => {
    // An interrupted request is not a call. Where the journal cannot be written, the provider sends no answer.
    serve(request, response).catch(() => request.socket.destroy());
  });
  server.maxConnections = connectionsMax;

  async function stop(): Promise<void> {
    answerSender.stop();
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
    await handler.stop();
  }

  try {
    const port = await listen(server, host, options.port);
    await handler.start();
    return {
      port,
      url: `http://${host}:${port}${prefix}`,
      ledger: () => ledgerOf(handler.journal.payments.values()),
      setBroken(next) {
        mode = next;
      },
      setDown: (isDown) => setQrProviderDown(dataDir, isDown),
      stop,
    };
  } catch (error) {
    await handler.stop();
    throw error;
  }
}
