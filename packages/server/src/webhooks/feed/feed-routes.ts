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
          'Returns events after this position: the `nextAfter` of the previous page. Omitted or 0: from ' +
          'the oldest event. A stream without it sends only new events.',
      }),
    ),
    before: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: positionMax,
        description:
          'Instead of `after`, to read backwards: returns events before this position, newest first; 0: ' +
          'from the newest event. Continue with `nextBefore`.',
      }),
    ),
    types: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4000,
        description: 'Only these event types or families (`transaction.*`), separated by commas.',
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
        description: 'The maximum number of events of a page.',
      }),
    ),
    wait: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: waitMaxSeconds,
        description: 'The seconds to wait for an event if there is none yet.',
      }),
    ),
  },
  closed,
);

const description =
  'The events of the organisation, oldest first. Store `nextAfter` together with the result of your ' +
  'processing, and send it as `after` in the next request. Then you miss no event within the ' +
  'retention time. A page may be empty although `hasMore` is true: the events that the server ' +
  'skipped have other types or another merchant. `before` reads backwards, newest first. With ' +
  '`Accept: text/event-stream` the response is a stream of Server-Sent Events: `id` is the ' +
  'position, `event` the type, `data` one item. A client that reconnects sends `Last-Event-ID`.';

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
  const detail = 'Cannot be combined with “after”, “wait” or a stream.';
  throwProblem('field_invalid', `The parameter “before”: ${detail}`, {
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
    headers: {
      'last-event-id': 'For a stream that reconnects: the last `id` that the client received.',
    },
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
    description: 'All published event types, each with the JSON Schema of its `data`.',
    tags,
    // The event types are public, as the API documents are.
    permission: 'public',
    response: { 200: EventTypeList },
    errors: [],
    priority: 'list',
    handler: async () => types,
  });
}
