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
import { BackplaneError } from './backplane.ts';

export type NatsSettings = {
  readonly natsUrl: string;
  readonly natsCaFile: string | undefined;
  readonly natsCertFile: string | undefined;
  readonly natsKeyFile: string | undefined;
  readonly natsCredentialsFile: string | undefined;
  readonly instanceName: string;
};

type MessageHandler = (data: Uint8Array, answer: (data: Uint8Array) => void) => void;

export type NatsClient = {
  isUp(): boolean;
  /** Also receives messages after a reconnect. @returns a function that ends the subscription */
  subscribe(subject: string, onMessage: MessageHandler): () => void;
  /** Drops the message if NATS is not connected. */
  publish(subject: string, data: Uint8Array): void;
  /**
   * Returns undefined immediately if no node listens.
   *
   * @throws BackplaneFault if NATS or the other node does not answer
   */
  request(subject: string, data: Uint8Array): Promise<Uint8Array | undefined>;
  /** @returns a function that removes the listener */
  onChange(listener: (isUp: boolean) => void): () => void;
  close(): Promise<void>;
};

type Deps = { readonly settings: NatsSettings; readonly log: Log; readonly metrics: Metrics };
type Subscriber = {
  readonly subject: string;
  readonly onMessage: MessageHandler;
  subscription?: Subscription;
};

const requestTimeoutMs = 3000;
const connectTimeoutMs = 5000;
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

const readOptionalFile = (file: string | undefined) =>
  file === undefined ? undefined : readFileSync(file, 'utf8');

const definedMember = (name: string, value: string | undefined) => defined({ [name]: value });

function optionsOf(settings: NatsSettings, failures: () => number) {
  const urls = settings.natsUrl.split(',').map((one) => new URL(one.trim()));
  const usesTls = urls[0]?.protocol === 'tls:' || settings.natsCaFile !== undefined;
  const tls = {
    ...definedMember('ca', readOptionalFile(settings.natsCaFile)),
    ...definedMember('cert', readOptionalFile(settings.natsCertFile)),
    ...definedMember('key', readOptionalFile(settings.natsKeyFile)),
  };
  return {
    servers: urls.map(({ hostname, port }) => `${hostname}:${port === '' ? 4222 : port}`),
    ...credentialsOf(urls[0], settings.natsCredentialsFile),
    ...(usesTls ? { tls } : {}),
    name: settings.instanceName,
    timeout: connectTimeoutMs,
    // This node delivers its own messages locally.
    noEcho: true,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectDelayHandler: () => pauseAfter(failures()),
    pingInterval: pingMs,
    maxPingOut: 2,
  };
}

const isNoResponder = (error: unknown): boolean =>
  error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders());

function createMetrics(metrics: Metrics, isUp: () => boolean) {
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
    disconnections: count('disconnections', 'Lost connections to NATS'),
    requests: count('requests', 'Requests to other nodes, by outcome', ['outcome']),
    dropped: count(
      'messages_dropped',
      'Messages to other nodes that were dropped because NATS was unavailable',
    ),
  };
}

/** @example const natsClient = openNatsClient({ settings, log, metrics }); */
export function openNatsClient({ settings, log, metrics }: Deps): NatsClient {
  const subscribers = new Set<Subscriber>();
  const listeners = new Set<(isUp: boolean) => void>();
  let connection: NatsConnection | undefined;
  let isUp = false;
  let isClosing = false;
  let failures = 0;
  let retry: NodeJS.Timeout | undefined;
  const counters = createMetrics(metrics, () => isUp);

  function setUp(target: boolean): void {
    if (isUp === target) return;
    isUp = target;
    if (target) {
      failures = 0;
      log.info('connected to NATS');
    } else if (!isClosing) {
      counters.disconnections.inc();
      log.warn('disconnected from NATS: other nodes are not reachable');
    }
    for (const listener of [...listeners]) listener(target);
  }

  /** While it closes, the connection rejects messages before its status changes. */
  function publishTo(target: NatsConnection, subject: string, data: Uint8Array): void {
    try {
      target.publish(subject, data);
    } catch (error) {
      if (!target.isDraining() && !target.isClosed()) throw error;
      counters.dropped.inc();
    }
  }

  function subscribeTo(subscriber: Subscriber, target: NatsConnection): void {
    const callback = (error: Error | null, { data, reply }: Msg) => {
      if (error !== null) {
        log.error({ err: error }, 'NATS rejected a subscription');
        return;
      }
      subscriber.onMessage(data, (answer) => {
        if (reply !== undefined && reply !== '' && isUp) publishTo(target, reply, answer);
      });
    };
    subscriber.subscription = target.subscribe(subscriber.subject, { callback });
  }

  async function followStatus(opened: NatsConnection): Promise<void> {
    for await (const { type } of opened.status()) {
      if (type === 'disconnect' || type === 'staleConnection') setUp(false);
      else if (type === 'reconnecting') failures += 1;
      else if (type === 'reconnect') setUp(true);
    }
  }

  async function openConnection(): Promise<void> {
    let opened: NatsConnection | undefined;
    try {
      opened = await connect(optionsOf(settings, () => failures));
      if (isClosing) return await opened.close();
      connection = opened;
      for (const subscriber of subscribers) subscribeTo(subscriber, opened);
      await opened.flush();
      setUp(true);
      void followStatus(opened);
      void opened.closed().then((error) => scheduleReopen(error));
    } catch (error) {
      // Otherwise this connection reconnects by itself and receives every message a second time.
      connection = undefined;
      await opened?.close().catch((fault: unknown) => {
        log.warn(
          { err: fault },
          'a NATS connection that failed while it opened could not be closed',
        );
      });
      scheduleReopen(error);
    }
  }

  function scheduleReopen(error: unknown): void {
    connection = undefined;
    setUp(false);
    if (isClosing) return;
    if (failures === 0) log.warn({ err: error }, 'NATS is not reachable; the server retries');
    failures += 1;
    retry = setTimeout(() => void openConnection(), pauseAfter(failures));
  }

  void openConnection();

  return {
    isUp: () => isUp,
    subscribe(subject, onMessage) {
      const subscriber: Subscriber = { subject, onMessage };
      subscribers.add(subscriber);
      if (connection !== undefined && !isClosing) subscribeTo(subscriber, connection);
      return () => {
        subscribers.delete(subscriber);
        if (connection?.isClosed() === false) subscriber.subscription?.unsubscribe();
      };
    },
    publish(subject, data) {
      if (isUp && connection !== undefined) publishTo(connection, subject, data);
      else counters.dropped.inc();
    },
    async request(subject, data) {
      if (!isUp || connection === undefined) {
        counters.requests.inc({ outcome: 'disconnected' });
        throw new BackplaneError('NATS is not reachable');
      }
      try {
        const answer = await connection.request(subject, data, { timeout: requestTimeoutMs });
        counters.requests.inc({ outcome: 'answered' });
        return answer.data;
      } catch (error) {
        const hasNoResponder = isNoResponder(error);
        counters.requests.inc({ outcome: hasNoResponder ? 'no_responder' : 'failed' });
        if (hasNoResponder) return undefined;
        throw new BackplaneError('another node did not answer', { cause: error });
      }
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      isClosing = true;
      clearTimeout(retry);
      const openConnection = connection;
      // `drain` sends the last messages if NATS is connected.
      if (isUp && openConnection !== undefined)
        await openConnection.drain().catch(() => openConnection.close());
      else await openConnection?.close();
    },
  };
}
