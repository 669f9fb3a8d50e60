// Connects a POS to a session of a device on another node; the data crosses NATS.
import { hash } from 'node:crypto';
import { closeCodes } from '@switchyard/contract';
import type { Clock, Ids, Log, Metrics } from '../../platform/index.ts';
import { createLane, type End } from '../forwarding/forward-messages.ts';
import type { Message } from './backplane.ts';
import { fromBytes, subjectPrefix, toBytes } from './nats-backplane.ts';
import type { Link } from './nats-connection.ts';
import { createPipe, type Pipe } from './session-stream.ts';

/** The client that uses an address, if it is known. */
export type User = { readonly organizationId: string; readonly clientId: string };

/** The operations of the node that has the device and the session. */
export type OfferedSession = {
  use(by: User | undefined): boolean;
  join(end: End): Joined | undefined;
};
type Joined = {
  heard(data: Buffer, isBinary: boolean): void;
  lost(isDone: boolean): void;
};

export type FarSessions = {
  /** Lets points of sale on other nodes use the address. @returns a function that ends this */
  offer(sessionId: string, session: OfferedSession): () => void;
  /**
   * Returns undefined if no node has the session, or the address was already used.
   *
   * @throws BackplaneFault
   */
  use(sessionId: string, by: User | undefined): Promise<((end: End) => Joined) | undefined>;
  tick(now: number): void;
};

type Deps = {
  readonly link: Link;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
};

/** The session identifier is a secret, so the NATS subject contains only its hash. */
const offerSubject = (sessionId: string) =>
  `${subjectPrefix}.session.${hash('sha256', sessionId, 'hex')}`;
const dataSubject = (channel: string, end: 'device' | 'pos') =>
  `${subjectPrefix}.data.${channel}.${end}`;

const channelForm = /^[A-Za-z0-9_-]{22,128}$/;
const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);

function userIn(message: Message): User | undefined {
  const organizationId = textOf(message['organizationId']);
  const clientId = textOf(message['clientId']);
  return organizationId === undefined || clientId === undefined
    ? undefined
    : { organizationId, clientId };
}

/** @example const far = createFarSessions({ link, clock, ids, log, metrics }); */
export function createFarSessions({ link, clock, ids, log, metrics }: Deps): FarSessions {
  const pipes = new Set<Pipe>();
  const ended = (pipe: Pipe) => void pipes.delete(pipe);
  metrics.gauge({
    name: 'switchyard_connector_remote_sessions',
    help: 'Sessions whose other end is on another node',
    collect() {
      this.set(pipes.size);
    },
  });
  // Messages on their way are lost, so each node ends these sessions now and not after a timeout.
  link.onChange((isUp) => {
    if (!isUp) for (const pipe of [...pipes]) pipe.cut();
  });

  /** Runs on the node of the device, for a point of sale that connects over NATS. */
  function serve(session: OfferedSession, channel: string): Pipe {
    let joined: Joined | undefined;
    const pipe = createPipe(
      {
        link,
        clock,
        ended,
        here: dataSubject(channel, 'device'),
        there: dataSubject(channel, 'pos'),
      },
      {
        opened() {
          if (joined !== undefined) return;
          joined = session.join({
            send: (data, isBinary, sent) => pipe.send(Buffer.from(data), isBinary ?? false, sent),
            buffered: pipe.buffered,
            pause: pipe.pause,
            resume: pipe.resume,
            close: pipe.close,
          });
          if (joined === undefined) pipe.close(closeCodes.superseded, 'superseded');
        },
        message(data, isBinary, taken) {
          joined?.heard(data, isBinary);
          taken();
        },
        closed: (code) => joined?.lost(code === closeCodes.done),
        lost: () => joined?.lost(false),
      },
    );
    pipes.add(pipe);
    return pipe;
  }

  /** Runs on the node of the point of sale. */
  function connect(end: End, channel: string): Joined {
    const pipe = createPipe(
      {
        link,
        clock,
        ended,
        here: dataSubject(channel, 'pos'),
        there: dataSubject(channel, 'device'),
      },
      {
        message: (data, isBinary, taken) => end.send(data, isBinary, taken),
        closed: (code, word) => end.close(code, word),
        lost() {
          log.info('the node of a device was lost in a session');
          end.close(closeCodes.deviceDisconnected, 'device_disconnected');
        },
      },
    );
    pipes.add(pipe);
    const lane = createLane({
      from: end,
      to: {
        send: (data, isBinary, sent) => pipe.send(Buffer.from(data), isBinary ?? false, sent),
        buffered: pipe.buffered,
      },
      now: clock.now,
      passed: () => {},
    });
    pipe.open();
    return {
      heard: (data, isBinary) => lane.pass(data, isBinary),
      lost: (isDone) => pipe.close(isDone ? closeCodes.done : closeCodes.deviceDisconnected, ''),
    };
  }

  return {
    offer(sessionId, session) {
      let pipe: Pipe | undefined;
      const end = link.listen(offerSubject(sessionId), (data, answer) => {
        const asked = fromBytes(data);
        const channel = textOf(asked?.['channel']);
        if (asked === undefined || channel === undefined || !channelForm.test(channel)) return;
        const isUsed = session.use(userIn(asked));
        if (isUsed) pipe = serve(session, channel);
        answer(toBytes({ isUsed }));
      });
      return () => {
        end();
        // The session closes an open pipe with its reason; this call closes a pipe that never
        // opened.
        pipe?.close(closeCodes.sessionExpired, 'session_expired');
      };
    },
    async use(sessionId, by) {
      const channel = ids.secret();
      const answered = await link.ask(
        offerSubject(sessionId),
        toBytes({ channel, ...(by === undefined ? {} : userIn({ ...by })) }),
      );
      if (answered === undefined || fromBytes(answered)?.['isUsed'] !== true) return undefined;
      return (end) => connect(end, channel);
    },
    tick(now) {
      for (const pipe of [...pipes]) pipe.tick(now);
    },
  };
}
