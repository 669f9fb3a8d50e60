/**
 * How messages reach a terminal: through the cloud, over the local network, or the one that works.
 */
import { problemText, readProblemBody } from '@switchyard/contract';
import { messageBytesMax } from '@switchyard/nexo';
import type { PosClient } from '../connector/pos-client.ts';
import type { ClaimOptions, Session } from '../connector/terminal-session.ts';
import { type PosTls, type Progress, post } from '../network/http-post.ts';
import { demandUrl } from '../network/secure-url.ts';
import { type Clock, unlessAborted, within } from '../support/clock.ts';
import { closed, late, PosError } from '../support/pos-error.ts';

export type LinkEvents = {
  message(text: string): void;
  /** The terminal may have received the message, but its answer will not arrive. */
  lost(error: PosError): void;
};

/**
 * `Unanswered`: the terminal received the message with an empty response; no answer will follow.
 */
export type Delivery = 'Sent' | 'Unanswered';

export type Link = {
  /** Makes the link ready to send. @throws PosError, `NotProcessed` */
  open(signal?: AbortSignal): Promise<void>;
  /** @throws PosError; its outcome says whether the message may have arrived */
  send(text: string): Promise<Delivery>;
  /** The path that the link uses now, if it has several. */
  way?(): 'cloud' | 'local';
  close(): Promise<void>;
};

export type CloudLinkSettings = {
  readonly client: PosClient;
  readonly tsn: string;
  readonly claim: Omit<ClaimOptions, 'signal'>;
};

/** One session that is claimed at first use and resumed after a break. */
export function cloudLink({ client, tsn, claim }: CloudLinkSettings, events: LinkEvents): Link {
  let session: Session | undefined;
  let opening: Promise<void> | undefined;
  let isClosed = false;

  async function connect(): Promise<void> {
    if (session === undefined) {
      const made = await client.claim(tsn, claim, {
        message: (data) => events.message(data.toString()),
        broken: events.lost,
      });
      if (isClosed) {
        await made.release();
        throw closed();
      }
      session = made;
    } else {
      // `resume` without `takeOver` does not end another session; it only resumes the own one.
      await session.resume({ waitSeconds: claim.waitSeconds });
    }
  }

  return {
    open(signal) {
      if (isClosed) return Promise.reject(closed());
      if (session?.isOpen() === true) return Promise.resolve();
      opening ??= connect().finally(() => {
        opening = undefined;
      });
      return unlessAborted(opening, signal);
    },
    async send(text) {
      if (session === undefined) throw closed();
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
const connectMs = 10_000;
const lastGoodStatus = 299;
const lastStatusOfClient = 499;

/** Sends one POST for each message; the HTTP response contains the terminal's answer. */
export function localLink(settings: LocalLinkSettings, events: LinkEvents): Link {
  const { tls, answerMs, clock } = settings;
  const { href: url } = demandUrl(settings.url, 'the address of the terminal', 'https');
  const over = new AbortController();

  async function send(text: string): Promise<Delivery> {
    const progress: Progress = { isConnected: false };
    const answer = await within(
      answerMs,
      { clock, signal: over.signal },
      (signal) =>
        post({
          url,
          tls,
          signal,
          progress,
          body: text,
          bytesMax: messageBytesMax,
          connecting: { mostMs: connectMs, clock },
          headers: { 'content-type': 'application/json', accept: 'application/json' },
        }),
      () => {
        const { message, code } = late('the answer of the terminal');
        const outcome = progress.isConnected ? 'Unknown' : 'NotProcessed';
        return new PosError('Transport', message, { code, outcome, retryable: true });
      },
    );
    const { status, body } = answer;
    if (status > lastGoodStatus) {
      const refusal = readProblemBody(body);
      throw new PosError(
        'Transport',
        `the terminal answered with ${problemText(status, refusal)}`,
        {
          code: refusal.code ?? `http_${status}`,
          status,
          outcome: status > lastStatusOfClient ? 'Unknown' : 'NotProcessed',
        },
      );
    }
    if (body.trim() === '') return 'Unanswered';
    events.message(body);
    return 'Sent';
  }

  return {
    open: async () => {
      if (over.signal.aborted) throw closed();
    },
    send,
    close: async () => over.abort(),
  };
}

/** Codes of a connector that cannot reach the terminal now or cannot locate it. */
const outOfReach = new Set(['device_offline', 'node_unreachable', 'unavailable', 'restarting']);

/** True for faults of the path, also if the terminal is not in the cloud; false if it is in use. */
function isOfTheWay(error: unknown): boolean {
  if (!(error instanceof PosError)) return false;
  if (error.kind === 'Transport') return true;
  return error.kind === 'Relay' && outOfReach.has(error.code);
}

/** Uses the cloud first, and the local network if the cloud cannot reach the terminal. */
export function autoLink(cloud: Link, local: Link): Link {
  let current = cloud;
  return {
    async open(signal) {
      try {
        await cloud.open(signal);
        current = cloud;
      } catch (error) {
        if (!isOfTheWay(error)) throw error;
        await local.open(signal);
        current = local;
      }
    },
    send: (text) => current.send(text),
    way: () => (current === cloud ? 'cloud' : 'local'),
    async close() {
      await local.close();
      await cloud.close();
    },
  };
}
