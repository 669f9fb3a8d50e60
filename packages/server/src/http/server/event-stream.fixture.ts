// A server with one list that grows and clients that wait for it, for the tests of streams.
import type { TestContext } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { pino } from 'pino';
import { Type } from 'typebox';
import { type ChangeNotifier, createChangeNotifier, createMetrics } from '../../platform/index.ts';
import type { Caller } from '../authentication/caller.ts';
import {
  eventStreamType,
  readStreamCursor,
  type StreamEvent,
  wantsEventStream,
} from '../event-streams/event-format.ts';
import { route } from '../routes/declare-route.ts';
import type { HttpDeps } from './http-server.ts';
import { callerWith, createSample, type Sample } from './sample-server.fixture.ts';

export const streamPath = '/sample/v1/happenings';
const pageEvents = 10;

/** What the processes of a platform share: the list, as a database would hold it. */
export type SharedList = {
  readonly events: StreamEvent[];
  isFinished: boolean;
  /** What a read answers with in place of a page. */
  fault: Error | undefined;
  /** What a read waits for. */
  held: Promise<void> | undefined;
  reads: number;
  looks: number;
};

export type StreamSample = Sample & {
  readonly live: ChangeNotifier;
  readonly list: SharedList;
  readonly url: string;
  /** Commits without a notification, as another process would. */
  commit(data: unknown, type?: string): number;
  /** Commits and notifies the listeners of this process. */
  happen(data: unknown, type?: string): void;
  metric(name: string): Promise<number>;
  /** What a token is worth from now on. */
  judge(verify: (token: string) => Caller): void;
};

export const createEmptySharedList = (): SharedList => ({
  events: [],
  isFinished: false,
  fault: undefined,
  held: undefined,
  reads: 0,
  looks: 0,
});

/** Times so short that a test sees each of them, and none strikes where it is not meant. */
export const eventStreamTestTimes = {
  tickMs: 5,
  heartbeatMs: 60_000,
  recheckMs: 60_000,
  slowReaderMs: 60_000,
  retryMs: 2,
  closeMs: 60_000,
};

const topic = { kind: 'list', key: 'one' };

function register({ app, streams }: Sample, list: SharedList): void {
  async function read(after: number, odd: boolean, least: number) {
    list.reads += 1;
    if (list.fault !== undefined) throw list.fault;
    const page = list.events.slice(after, after + pageEvents);
    const isLast = list.isFinished && after + page.length === list.events.length;
    // What happens from here on, this read has not seen.
    await list.held;
    const events = page.filter(({ id }) => id >= least && (!odd || id % 2 === 1));
    return { events, next: after + page.length, isLast };
  }
  route(app, {
    method: 'GET',
    url: streamPath,
    operationId: 'listHappenings',
    summary: 'What happens',
    tags: ['Samples'],
    errors: ['header_invalid'],
    permission: 'pay.read',
    produces: ['application/json', eventStreamType],
    query: Type.Object({
      after: Type.Optional(Type.Integer({ minimum: 0 })),
      wait: Type.Optional(Type.Number({ minimum: 0 })),
      odd: Type.Optional(Type.Boolean()),
      least: Type.Optional(Type.Integer({ minimum: 0 })),
    }),
    response: {
      200: Type.Object({ ids: Type.Array(Type.Integer()), next: Type.Integer() }),
      204: null,
    },
    async handler(request, reply) {
      const { after = 0, wait = 0, odd = false, least = 0 } = request.query;
      const waited = {
        topic,
        after: readStreamCursor(request, after),
        read: (from: number) => read(from, odd, least),
      };
      if (wantsEventStream(request)) return streams.send(request, reply, waited);
      const page = await streams.poll(request, reply, { ...waited, waitSeconds: wait });
      return { ids: page.events.map(({ id }) => id), next: page.next };
    },
  });
}

/** Stops with the test. */
export async function createStreamSample(
  t: TestContext,
  { list = createEmptySharedList(), ...more }: Partial<HttpDeps> & { list?: SharedList } = {},
): Promise<StreamSample> {
  const metrics = createMetrics();
  const live = createChangeNotifier({ log: pino({ level: 'silent' }), metrics, pollMs: 20 });
  live.addSource('list', async () => {
    list.looks += 1;
    return new Map([['one', list.events.length]]);
  });
  let verify = (token: string): Caller => {
    if (token === 'all') return callerWith();
    throw new ProblemError('token_invalid', 'The token is not known.');
  };
  const sample = await createSample({
    live,
    metrics,
    verifyToken: async (token) => verify(token),
    ...more,
    streams: { ...more.streams, timings: { ...eventStreamTestTimes, ...more.streams?.timings } },
  });
  register(sample, list);
  live.start();
  const { port } = await sample.listen();
  t.after(async () => {
    await sample.close();
    await live.stop();
  });
  function commit(data: unknown, type = 'thing.happened'): number {
    const id = list.events.length + 1;
    list.events.push({ id, type, data: JSON.stringify(data) });
    return id;
  }
  return {
    ...sample,
    live,
    list,
    commit,
    url: `${more.tls === undefined ? 'http' : 'https'}://localhost:${port}${streamPath}`,
    happen: (data, type) => live.publish(topic, commit(data, type)),
    async metric(name) {
      const text = await metrics.registry.metrics();
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')[1] ?? 0,
      );
    },
    judge(other) {
      verify = other;
    },
  };
}
