// Keeps the connection to NATS core open while the process runs; no caller waits for it.
import { readFileSync } from 'node:fs';
import {
  connect,
  credsAuthenticator,
  type Msg,
  type NatsConnection,
  NoRespondersError,
  RequestError,
  type Subscription,
} from '@nats-io/transport-node';
import { defined } from '@switchyard/contract';
import { type Log, type Metrics, withJitter } from '../../platform/index.ts';
import { BackplaneFault } from './backplane.ts';

export type LinkSettings = {
  readonly natsUrl: string;
  readonly natsCaFile: string | undefined;
  readonly natsCertFile: string | undefined;
  readonly natsKeyFile: string | undefined;
  readonly natsCredentialsFile: string | undefined;
  readonly instanceName: string;
};

type Heard = (data: Uint8Array, answer: (data: Uint8Array) => void) => void;

export type Link = {
  isUp(): boolean;
  /** Also receives messages after a reconnect. @returns a function that ends the subscription */
  listen(subject: string, heard: Heard): () => void;
  /** Drops the message if NATS is not connected. */
  send(subject: string, data: Uint8Array): void;
  /**
   * Returns undefined immediately if no node listens.
   *
   * @throws BackplaneFault if NATS or the other node does not answer
   */
  ask(subject: string, data: Uint8Array): Promise<Uint8Array | undefined>;
  /** @returns a function that removes the listener */
  onChange(told: (isUp: boolean) => void): () => void;
  close(): Promise<void>;
};

type Deps = { readonly settings: LinkSettings; readonly log: Log; readonly metrics: Metrics };
type Entry = { readonly subject: string; readonly heard: Heard; subscription?: Subscription };

const askMs = 3000;
const connectMs = 5000;
const firstPauseMs = 100;
const longestPauseMs = 5000;
/** If the server does not answer two pings, the client closes the connection. */
const pingMs = 5000;

/**
 * The pause doubles after each failure in a row; the jitter prevents nodes from reconnecting
 * together.
 */
const pauseAfter = (failures: number): number =>
  withJitter(Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures, 10)));

/** Reads the credentials from the first URL (user and password, or a token) or from a file. */
function credentialsOf(url: URL | undefined, file: string | undefined) {
  if (file !== undefined) return { authenticator: credsAuthenticator(readFileSync(file)) };
  if (url === undefined) return {};
  const [user, pass] = [url.username, url.password].map(decodeURIComponent);
  if (user === undefined || user === '') return {};
  return pass === undefined || pass === '' ? { token: user } : { user, pass };
}

const readIf = (file: string | undefined) =>
  file === undefined ? undefined : readFileSync(file, 'utf8');

const definedMember = (name: string, value: string | undefined) => defined({ [name]: value });

function optionsOf(settings: LinkSettings, failures: () => number) {
  const urls = settings.natsUrl.split(',').map((one) => new URL(one.trim()));
  const isTls = urls[0]?.protocol === 'tls:' || settings.natsCaFile !== undefined;
  const tls = {
    ...definedMember('ca', readIf(settings.natsCaFile)),
    ...definedMember('cert', readIf(settings.natsCertFile)),
    ...definedMember('key', readIf(settings.natsKeyFile)),
  };
  return {
    servers: urls.map(({ hostname, port }) => `${hostname}:${port === '' ? 4222 : port}`),
    ...credentialsOf(urls[0], settings.natsCredentialsFile),
    ...(isTls ? { tls } : {}),
    name: settings.instanceName,
    timeout: connectMs,
    // This node delivers its own messages locally.
    noEcho: true,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectDelayHandler: () => pauseAfter(failures()),
    pingInterval: pingMs,
    maxPingOut: 2,
  };
}

const isNobody = (error: unknown): boolean =>
  error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders());

function measure(metrics: Metrics, isUp: () => boolean) {
  metrics.gauge({
    name: 'switchyard_connector_nats_up',
    help: '1 while this node is connected to NATS, otherwise 0',
    collect() {
      this.set(isUp() ? 1 : 0);
    },
  });
  const count = (name: string, help: string, labelNames: string[] = []) =>
    metrics.counter({ name: `switchyard_connector_nats_${name}_total`, help, labelNames });
  return {
    cuts: count('disconnections', 'Lost connections to NATS'),
    asked: count('requests', 'Requests to other nodes, by outcome', ['outcome']),
    dropped: count(
      'messages_dropped',
      'Messages to other nodes that were dropped because NATS was unavailable',
    ),
  };
}

/** @example const link = openLink({ settings, log, metrics }); */
export function openLink({ settings, log, metrics }: Deps): Link {
  const entries = new Set<Entry>();
  const listeners = new Set<(isUp: boolean) => void>();
  let connection: NatsConnection | undefined;
  let isUp = false;
  let isClosing = false;
  let failures = 0;
  let retry: NodeJS.Timeout | undefined;
  const counted = measure(metrics, () => isUp);

  function change(to: boolean): void {
    if (isUp === to) return;
    isUp = to;
    if (to) {
      failures = 0;
      log.info('NATS is reached');
    } else if (!isClosing) {
      counted.cuts.inc();
      log.warn('NATS is lost: other nodes cannot be reached');
    }
    for (const told of [...listeners]) told(to);
  }

  /** While it closes, the connection rejects messages before its status changes. */
  function publish(to: NatsConnection, subject: string, data: Uint8Array): void {
    try {
      to.publish(subject, data);
    } catch (error) {
      if (!to.isDraining() && !to.isClosed()) throw error;
      counted.dropped.inc();
    }
  }

  function subscribe(entry: Entry, to: NatsConnection): void {
    const callback = (error: Error | null, { data, reply }: Msg) => {
      if (error !== null) {
        log.error({ err: error }, 'NATS refuses a subscription');
        return;
      }
      entry.heard(data, (answer) => {
        if (reply !== undefined && reply !== '' && isUp) publish(to, reply, answer);
      });
    };
    entry.subscription = to.subscribe(entry.subject, { callback });
  }

  async function follow(opened: NatsConnection): Promise<void> {
    for await (const { type } of opened.status()) {
      if (type === 'disconnect' || type === 'staleConnection') change(false);
      else if (type === 'reconnecting') failures += 1;
      else if (type === 'reconnect') change(true);
    }
  }

  async function open(): Promise<void> {
    let opened: NatsConnection | undefined;
    try {
      opened = await connect(optionsOf(settings, () => failures));
      if (isClosing) return await opened.close();
      connection = opened;
      for (const entry of entries) subscribe(entry, opened);
      await opened.flush();
      change(true);
      void follow(opened);
      void opened.closed().then((error) => reopen(error));
    } catch (error) {
      // Otherwise this connection reconnects by itself and receives every message a second time.
      connection = undefined;
      await opened?.close().catch((fault: unknown) => {
        log.warn({ err: fault }, 'a connection to NATS that broke at its beginning does not close');
      });
      reopen(error);
    }
  }

  function reopen(error: unknown): void {
    connection = undefined;
    change(false);
    if (isClosing) return;
    if (failures === 0) log.warn({ err: error }, 'NATS cannot be reached; it is tried again');
    failures += 1;
    retry = setTimeout(() => void open(), pauseAfter(failures));
  }

  void open();

  return {
    isUp: () => isUp,
    listen(subject, heard) {
      const entry: Entry = { subject, heard };
      entries.add(entry);
      if (connection !== undefined && !isClosing) subscribe(entry, connection);
      return () => {
        entries.delete(entry);
        if (connection?.isClosed() === false) entry.subscription?.unsubscribe();
      };
    },
    send(subject, data) {
      if (isUp && connection !== undefined) publish(connection, subject, data);
      else counted.dropped.inc();
    },
    async ask(subject, data) {
      if (!isUp || connection === undefined) {
        counted.asked.inc({ outcome: 'away' });
        throw new BackplaneFault('NATS cannot be reached');
      }
      try {
        const answer = await connection.request(subject, data, { timeout: askMs });
        counted.asked.inc({ outcome: 'answered' });
        return answer.data;
      } catch (error) {
        const isNone = isNobody(error);
        counted.asked.inc({ outcome: isNone ? 'nobody' : 'failed' });
        if (isNone) return undefined;
        throw new BackplaneFault('another node did not answer', { cause: error });
      }
    },
    onChange(told) {
      listeners.add(told);
      return () => listeners.delete(told);
    },
    async close() {
      isClosing = true;
      clearTimeout(retry);
      const open = connection;
      // `drain` sends the last messages if NATS is connected.
      if (isUp && open !== undefined) await open.drain().catch(() => open.close());
      else await open?.close();
    },
  };
}
