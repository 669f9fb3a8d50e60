/** How messages reach a terminal: through the cloud, over the local network, or whichever works. */
import { readRefusalBody, refusalText } from '@switchyard/contract';
import { messageBytesMax } from '@switchyard/nexo';
import { demandUrl } from './addresses.ts';
import { type Clock, unlessAborted, within } from './clock.ts';
import { closed, late, PosError } from './errors.ts';
import { type PosTls, type Progress, post } from './http.ts';
import type { PosClient } from './pos-client.ts';
import type { ClaimOptions, Session } from './session.ts';

export type LinkEvents = {
  message(text: string): void;
  /** What was sent may have arrived; what it answers will not. */
  lost(error: PosError): void;
};

/** `Unanswered`: it has arrived, and was answered by nothing, so that no answer will come. */
export type Delivery = 'Sent' | 'Unanswered';

export type Link = {
  /** Ready to send. @throws PosError, `NotProcessed` */
  open(signal?: AbortSignal): Promise<void>;
  /** @throws PosError, whose outcome says whether the message may have arrived */
  send(text: string): Promise<Delivery>;
  /** Which way it sends now, where there are several. */
  way?(): 'cloud' | 'local';
  close(): Promise<void>;
};

export type CloudLinkSettings = {
  readonly client: PosClient;
  readonly tsn: string;
  readonly claim: Omit<ClaimOptions, 'signal'>;
};

/** One session, claimed when it is first needed and resumed when it broke. */
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
      // What has been going on is ended by nobody: only a session of one's own is got back.
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
  /** Such as `https://10.0.0.17:8443/nexo`. */
  readonly url: string;
  readonly tls: PosTls;
  /** How long an answer is waited for. */
  readonly answerMs: number;
  readonly clock: Clock;
};

/** In a network of one shop: a terminal that takes no connection by then is not there. */
const connectMs = 10_000;
const lastGoodStatus = 299;
const lastStatusOfClient = 499;

/** One POST for each message; its answer is the answer. */
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
      const refusal = readRefusalBody(body);
      throw new PosError(
        'Transport',
        `the terminal answered with ${refusalText(status, refusal)}`,
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

/** Relays that cannot reach the terminal now, or cannot even tell: it is itself that says who uses it. */
const outOfReach = new Set(['device_offline', 'node_unreachable', 'unavailable', 'restarting']);

/** Faults of the way, and of a terminal that is not in the cloud; not those of one that is in use. */
function isOfTheWay(error: unknown): boolean {
  if (!(error instanceof PosError)) return false;
  if (error.kind === 'Transport') return true;
  return error.kind === 'Relay' && outOfReach.has(error.code);
}

/** Cloud first; the local network where the cloud does not reach the terminal. */
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
