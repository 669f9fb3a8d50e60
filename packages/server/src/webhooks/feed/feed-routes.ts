// Registers the routes of the feed, version 1: pages, long polls and streams.
import {
  defined,
  EventList,
  EventTypeList,
  eventDefinitions,
  type FeedItem,
  publicSchema,
  throwProblem,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  type EventStreams,
  eventStreamType,
  readStreamCursor,
  route,
  wantsEventStream,
} from '../../http/index.ts';
import type { BackwardFeedPage, FeedPage, FeedReader } from './read-feed.ts';

export const feedTopic = 'feed';

const base = '/events/v1';
const tags = ['Events'] as const;
const closed = { additionalProperties: false };
const limitDefault = 50;
const limitMax = 200;
/** The number of events that a stream holds in memory for each reader. */
const streamedAtOnce = 64;
const waitMaxSeconds = 30;
const positionMax = Number.MAX_SAFE_INTEGER;

const query = Type.Object(
  {
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: positionMax,
        description:
          'What lies behind this position: the `nextAfter` of the page before. Left out, or 0: from ' +
          'the oldest there is; a stream without it tells what is new.',
      }),
    ),
    before: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: positionMax,
        description:
          'In place of `after`, to look back: what lies before this position, the newest first; 0: ' +
          'from the newest there is. Go on with `nextBefore`.',
      }),
    ),
    types: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4000,
        description: 'Only these: types, families (`transaction.*`), divided by commas.',
        examples: ['transaction.captured,transaction.refunded'],
      }),
    ),
    merchantId: Type.Optional(
      Type.String({ format: 'uuid', description: 'Only events of this merchant.' }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limitMax,
        default: limitDefault,
        description: 'How many events a page holds at most.',
      }),
    ),
    wait: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: waitMaxSeconds,
        description: 'Seconds to wait for an event where there is none yet.',
      }),
    ),
  },
  closed,
);

const description =
  'What has happened in the organisation, the oldest first. Keep `nextAfter` with what you have ' +
  'worked off, and ask with it as `after`: nothing is missed, however long you were away within the ' +
  'time that events are kept. A page may hold nothing although `hasMore` says there is more: what ' +
  'lies between is not of the types or the merchant that you asked for. `before` looks back instead, the newest first. With `Accept: ' +
  'text/event-stream` the same comes as Server-Sent Events: `id` is the position, `event` the type, ' +
  '`data` one item; a client that comes back says `Last-Event-ID`.';

const types = {
  items: [...eventDefinitions.values()].map(({ data, ...definition }) => ({
    ...definition,
    schema: publicSchema(data),
  })),
};

const parseItems = ({ events }: Pick<FeedPage, 'events'>) =>
  events.map(({ data }) => JSON.parse(data) as FeedItem);

/** Refuses `before` with a long poll or a stream, because these wait for new events. */
function requireOnlyBefore({ after, wait }: Static<typeof query>, isStream: boolean): void {
  if (after === undefined && wait === undefined && !isStream) return;
  const detail = 'Goes with neither after nor wait, and not with a stream.';
  throwProblem('field_invalid', `before: ${detail}`, {
    errors: [{ pointer: '?before', code: 'field_invalid', detail }],
  });
}

/** The page contains the end of the feed, so that the client can continue from there. */
function toBackwardPage(part: BackwardFeedPage): EventList {
  const { next, end } = part;
  const more = defined({ nextBefore: next });
  return { items: parseItems(part), nextAfter: end, hasMore: next !== undefined, ...more };
}

export function registerFeedRoutes(
  app: FastifyInstance,
  reader: FeedReader,
  streams: EventStreams,
): void {
  route(app, {
    method: 'GET',
    url: base,
    operationId: 'listEvents',
    summary: 'List the events',
    description,
    tags,
    permission: 'hook.read',
    query,
    headers: { 'last-event-id': 'Of a stream that comes back: the last `id` that it has seen.' },
    response: { 200: EventList },
    produces: ['application/json', eventStreamType],
    errors: ['cursor_invalid', 'events_forgotten', 'entity_out_of_scope', 'header_invalid'],
    priority: 'list',
    async handler(request, reply) {
      const { caller, query: filters } = request;
      const { limit = limitDefault, wait = 0 } = filters;
      const feedQuery = reader.toFeedQuery(caller, filters);
      if (filters.before !== undefined) {
        requireOnlyBefore(filters, wantsEventStream(request));
        return toBackwardPage(await reader.readBackwards(feedQuery, filters.before, limit));
      }
      const topic = { kind: feedTopic, key: caller.organizationId };
      if (wantsEventStream(request)) {
        const cursor = readStreamCursor(request, filters.after ?? -1);
        const after = cursor < 0 ? await reader.findEnd(caller.organizationId) : cursor;
        const read = (from: number) => reader.read(feedQuery, from, streamedAtOnce);
        return streams.send(request, reply, { topic, after, read });
      }
      let end = 0;
      const page = await streams.poll(request, reply, {
        topic,
        after: filters.after ?? 0,
        waitSeconds: wait,
        async read(from) {
          const part = await reader.read(feedQuery, from, limit);
          end = part.end;
          return part;
        },
      });
      return {
        items: parseItems(page),
        nextAfter: page.next,
        hasMore: page.next < end,
      };
    },
  });

  route(app, {
    method: 'GET',
    url: `${base}/types`,
    operationId: 'listEventTypes',
    summary: 'List the event types',
    description: 'Every type that is published, with the JSON Schema of its `data`.',
    tags,
    // The event types are public, as the API documents are.
    permission: 'public',
    response: { 200: EventTypeList },
    errors: [],
    priority: 'list',
    handler: async () => types,
  });
}
