// Connects a POS to a session of a device on another node; the data crosses NATS.
import { hash } from 'node:crypto';
import { closeCodes } from '@switchyard/contract';
import type { Clock, Ids, Log, Metrics } from '../../platform/index.ts';
import { createForwarder, type MessageEndpoint } from '../forwarding/forward-messages.ts';
import type { Message } from './backplane.ts';
import { decodeMessage, encodeMessage, subjectPrefix } from './nats-backplane.ts';
import type { NatsClient } from './nats-connection.ts';
import { createSessionStream, type SessionStream } from './session-stream.ts';

/** The client that uses an address, if it is known. */
export type SessionAddressClient = { readonly organizationId: string; readonly clientId: string };

/** The operations of the node that has the device and the session. */
export type PublishedSession = {
  useAddress(user: SessionAddressClient | undefined): boolean;
  join(endpoint: MessageEndpoint): PosSessionConnection | undefined;
};
type PosSessionConnection = {
  receive(data: Buffer, isBinary: boolean): void;
  disconnected(isDone: boolean): void;
};

export type RemoteSessions = {
  /** Lets points of sale on other nodes use the address. @returns a function that ends this */
  publish(sessionId: string, session: PublishedSession): () => void;
  /**
   * Returns undefined if no node has the session, or the address was already used.
   *
   * @throws BackplaneError
   */
  useAddress(
    sessionId: string,
    user: SessionAddressClient | undefined,
  ): Promise<((endpoint: MessageEndpoint) => PosSessionConnection) | undefined>;
  tick(now: number): void;
};

type Deps = {
  readonly natsClient: NatsClient;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
};

/** The session identifier is a secret, so the NATS subject contains only its hash. */
const sessionSubject = (sessionId: string) =>
  `${subjectPrefix}.session.${hash('sha256', sessionId, 'hex')}`;
const dataSubject = (channel: string, endpoint: 'device' | 'pos') =>
  `${subjectPrefix}.data.${channel}.${endpoint}`;

const channelForm = /^[A-Za-z0-9_-]{22,128}$/;
const readText = (value: unknown) => (typeof value === 'string' ? value : undefined);

function readUser(message: Message): SessionAddressClient | undefined {
  const organizationId = readText(message['organizationId']);
  const clientId = readText(message['clientId']);
  return organizationId === undefined || clientId === undefined
    ? undefined
    : { organizationId, clientId };
}

/** @example const remoteSessions = createRemoteSessions({ natsClient, clock, ids, log, metrics }); */
export function createRemoteSessions({
  natsClient,
  clock,
  ids,
  log,
  metrics,
}: Deps): RemoteSessions {
  const streams = new Set<SessionStream>();
  const onEnded = (stream: SessionStream) => void streams.delete(stream);
  metrics.gauge({
    name: 'switchyard_connector_remote_sessions',
    help: 'Sessions whose other end is on another node',
    collect() {
      this.set(streams.size);
    },
  });
  // Messages on their way are lost, so each node ends these sessions now and not after a timeout.
  natsClient.onChange((isUp) => {
    if (!isUp) for (const stream of [...streams]) stream.disconnect();
  });

  /** Runs on the node of the device, for a point of sale that connects over NATS. */
  function openDeviceEnd(session: PublishedSession, channel: string): SessionStream {
    let joined: PosSessionConnection | undefined;
    const stream = createSessionStream(
      {
        natsClient,
        clock,
        onEnded,
        localSubject: dataSubject(channel, 'device'),
        remoteSubject: dataSubject(channel, 'pos'),
      },
      {
        opened() {
          if (joined !== undefined) return;
          joined = session.join({
            send: (data, isBinary, sent) => stream.send(Buffer.from(data), isBinary ?? false, sent),
            buffered: stream.buffered,
            pause: stream.pause,
            resume: stream.resume,
            close: stream.close,
          });
          if (joined === undefined) stream.close(closeCodes.superseded, 'superseded');
        },
        message(data, isBinary, onAccepted) {
          joined?.receive(data, isBinary);
          onAccepted();
        },
        closed: (code) => joined?.disconnected(code === closeCodes.done),
        lost: () => joined?.disconnected(false),
      },
    );
    streams.add(stream);
    return stream;
  }

  /** Runs on the node of the point of sale. */
  function openPosEnd(endpoint: MessageEndpoint, channel: string): PosSessionConnection {
    const stream = createSessionStream(
      {
        natsClient,
        clock,
        onEnded,
        localSubject: dataSubject(channel, 'pos'),
        remoteSubject: dataSubject(channel, 'device'),
      },
      {
        message: (data, isBinary, onAccepted) => endpoint.send(data, isBinary, onAccepted),
        closed: (code, reason) => endpoint.close(code, reason),
        lost() {
          log.info('the node of a device was lost during a session');
          endpoint.close(closeCodes.deviceDisconnected, 'device_disconnected');
        },
      },
    );
    streams.add(stream);
    const forwarder = createForwarder({
      from: endpoint,
      to: {
        send: (data, isBinary, sent) => stream.send(Buffer.from(data), isBinary ?? false, sent),
        buffered: stream.buffered,
      },
      now: clock.now,
      onForwarded: () => {},
    });
    stream.open();
    return {
      receive: (data, isBinary) => forwarder.forward(data, isBinary),
      disconnected: (isDone) =>
        stream.close(isDone ? closeCodes.done : closeCodes.deviceDisconnected, ''),
    };
  }

  return {
    publish(sessionId, session) {
      let stream: SessionStream | undefined;
      const unsubscribe = natsClient.subscribe(sessionSubject(sessionId), (data, answer) => {
        const request = decodeMessage(data);
        const channel = readText(request?.['channel']);
        if (request === undefined || channel === undefined || !channelForm.test(channel)) return;
        const isAddressUsed = session.useAddress(readUser(request));
        if (isAddressUsed) stream = openDeviceEnd(session, channel);
        answer(encodeMessage({ isUsed: isAddressUsed }));
      });
      return () => {
        unsubscribe();
        // The session closes an open stream with its reason; this call closes a stream that never
        // opened.
        stream?.close(closeCodes.sessionExpired, 'session_expired');
      };
    },
    async useAddress(sessionId, user) {
      const channel = ids.secret();
      const answer = await natsClient.request(
        sessionSubject(sessionId),
        encodeMessage({ channel, ...(user === undefined ? {} : readUser({ ...user })) }),
      );
      if (answer === undefined || decodeMessage(answer)?.['isUsed'] !== true) return undefined;
      return (endpoint) => openPosEnd(endpoint, channel);
    },
    tick(now) {
      for (const stream of [...streams]) stream.tick(now);
    },
  };
}
