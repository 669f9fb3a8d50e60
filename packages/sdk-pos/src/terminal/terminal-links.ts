/**
 * How messages reach a terminal: through the cloud, over the local network, or the one that works.
 */
import { problemText, readProblemBody } from '@switchyard/contract';
import { messageBytesMax } from '@switchyard/nexo';
import { type Clock, requireSecureUrl, unlessAborted, withTimeLimit } from '@switchyard/sdk-core';
import type { PosClient } from '../connector/pos-client.ts';
import type { ClaimOptions, Session } from '../connector/terminal-session.ts';
import { type ConnectProgress, type PosTls, post } from '../network/http-post.ts';
import { closedError, createPosError, PosError, timeoutError } from '../support/pos-error.ts';

export type LinkHandlers = {
  onMessage(text: string): void;
  /** The terminal may have received the message, but its answer will not arrive. */
  onLost(error: PosError): void;
};

/**
 * `Unanswered`: the terminal received the message with an empty response; no answer will follow.
 */
export type DeliveryResult = 'Sent' | 'Unanswered';

export type TerminalLink = {
  /** Makes the link ready to send. @throws PosError, `NotProcessed` */
  open(signal?: AbortSignal): Promise<void>;
  /** @throws PosError; its outcome says whether the message may have arrived */
  send(text: string): Promise<DeliveryResult>;
  /** The path that the link uses now, if it has several. */
  activePath?(): 'cloud' | 'local';
  close(): Promise<void>;
};

export type CloudLinkSettings = {
  readonly client: PosClient;
  readonly tsn: string;
  readonly claim: Omit<ClaimOptions, 'signal'>;
};

/** One session that is claimed at first use and resumed after a break. */
export function cloudLink(
  { client, tsn, claim }: CloudLinkSettings,
  handlers: LinkHandlers,
): TerminalLink {
  let session: Session | undefined;
  let opening: Promise<void> | undefined;
  let isClosed = false;

  async function connect(): Promise<void> {
    if (session === undefined) {
      const claimedSession = await client.claim(tsn, claim, {
        onMessage: (data) => handlers.onMessage(data.toString()),
        onConnectionLost: handlers.onLost,
      });
      if (isClosed) {
        await claimedSession.release();
        throw closedError();
      }
      session = claimedSession;
    } else {
      // `resume` without `takeOver` does not end another session; it only resumes the own one.
      await session.resume({ waitSeconds: claim.waitSeconds });
    }
  }

  return {
    open(signal) {
      if (isClosed) return Promise.reject(closedError());
      if (session?.isOpen() === true) return Promise.resolve();
      opening ??= connect().finally(() => {
        opening = undefined;
      });
      return unlessAborted(opening, signal, createPosError);
    },
    async send(text) {
      if (session === undefined) throw closedError();
      await session.send(text);
      return 'Sent';
    },
    async close() {
      isClosed = true;
      await session?.release();
    },
  };
}

export type LocalLinkSettings = {
  /** For example `https://10.0.0.17:8443/nexo`. */
  readonly url: string;
  readonly tls: PosTls;
  /** How long the link waits for an answer. */
  readonly answerMs: number;
  readonly clock: Clock;
};

/** In a local network, a terminal that does not connect within this time is not there. */
const connectTimeoutMs = 10_000;
const lastGoodStatus = 299;
const lastStatusOfClient = 499;

/** Sends one POST for each message; the HTTP response contains the terminal's answer. */
export function localLink(settings: LocalLinkSettings, handlers: LinkHandlers): TerminalLink {
  const { tls, answerMs, clock } = settings;
  const { href: url } = requireSecureUrl(
    settings.url,
    'the address of the terminal',
    'https',
    createPosError,
  );
  const closeController = new AbortController();

  async function send(text: string): Promise<DeliveryResult> {
    const progress: ConnectProgress = { isConnected: false };
    const answer = await withTimeLimit(
      answerMs,
      { clock, signal: closeController.signal, createError: createPosError },
      (signal) =>
        post({
          url,
          tls,
          signal,
          progress,
          body: text,
          bytesMax: messageBytesMax,
          connectLimit: { mostMs: connectTimeoutMs, clock },
          headers: { 'content-type': 'application/json', accept: 'application/json' },
        }),
      () => {
        const { message, code } = timeoutError('the answer of the terminal');
        const outcome = progress.isConnected ? 'Unknown' : 'NotProcessed';
        return new PosError('Transport', message, { code, outcome, retryable: true });
      },
    );
    const { status, body } = answer;
    if (status > lastGoodStatus) {
      const problem = readProblemBody(body);
      throw new PosError(
        'Transport',
        `the terminal answered with ${problemText(status, problem)}`,
        {
          code: problem.code ?? `http_${status}`,
          status,
          outcome: status > lastStatusOfClient ? 'Unknown' : 'NotProcessed',
        },
      );
    }
    if (body.trim() === '') return 'Unanswered';
    handlers.onMessage(body);
    return 'Sent';
  }

  return {
    open: async () => {
      if (closeController.signal.aborted) throw closedError();
    },
    send,
    close: async () => closeController.abort(),
  };
}

/** Codes of a connector that cannot reach the terminal now or cannot locate it. */
const unreachableCodes = new Set([
  'device_offline',
  'node_unreachable',
  'unavailable',
  'restarting',
]);

/** True for faults of the path, also if the terminal is not in the cloud; false if it is in use. */
function isPathError(error: unknown): boolean {
  if (!(error instanceof PosError)) return false;
  if (error.kind === 'Transport') return true;
  return error.kind === 'Connector' && unreachableCodes.has(error.code);
}

/** Uses the cloud first, and the local network if the cloud cannot reach the terminal. */
export function autoLink(cloud: TerminalLink, local: TerminalLink): TerminalLink {
  let current = cloud;
  return {
    async open(signal) {
      try {
        await cloud.open(signal);
        current = cloud;
      } catch (error) {
        if (!isPathError(error)) throw error;
        await local.open(signal);
        current = local;
      }
    },
    send: (text) => current.send(text),
    activePath: () => (current === cloud ? 'cloud' : 'local'),
    async close() {
      await local.close();
      await cloud.close();
    },
  };
}
