/** The forms of an event: as the body of a webhook, as an item of the feed, and in lists. */
import { type Static, Type } from 'typebox';
import { Timestamp } from '../schemas/values-and-problems/value-schemas.ts';

/**
 * The body of a webhook, in the form of Standard Webhooks.
 *
 * @example
 * const { type, data } = JSON.parse(body) as EventBody;
 */
export const EventBody = Type.Object(
  {
    type: Type.String({
      description: 'A type of the catalogue.',
      examples: ['transaction.captured'],
    }),
    timestamp: Timestamp,
    data: Type.Record(Type.String(), Type.Unknown(), {
      description: 'As the type says. Members may be added in time: ignore those you do not know.',
    }),
  },
  { description: 'The event.' },
);
/** The type of {@link EventBody}. */
export type EventBody = Static<typeof EventBody>;

/**
 * An event in the feed: the body of its webhook, its identifier and its position.
 *
 * @example
 * const { items, nextAfter } = (await response.json()) as EventList;
 */
export const FeedItem = Type.Object(
  {
    eventId: Type.String({
      format: 'uuid',
      description: 'The `webhook-id` of its deliveries: the same event has the same one for ever.',
      examples: ['019823f0-5d2c-7a31-9a53-0c6f1f2e9b11'],
    }),
    position: Type.Integer({
      minimum: 1,
      description: 'Counts the events of the organisation in the order in which they can be read.',
    }),
    ...EventBody.properties,
  },
  { description: 'An event of the feed.' },
);
/** The type of {@link FeedItem}. */
export type FeedItem = Static<typeof FeedItem>;

/**
 * `GET /events/v1`: the events after a position.
 *
 * @example
 * const page = (await response.json()) as EventList;
 */
export const EventList = Type.Object(
  {
    items: Type.Array(FeedItem),
    nextAfter: Type.Integer({
      minimum: 0,
      description:
        'Ask with `after` of this next time: also where nothing was found. Of a page that looks back: ' +
        'the end of the feed.',
    }),
    nextBefore: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          'Of a page that looks back, where there is more: ask with `before` of this next.',
      }),
    ),
    hasMore: Type.Boolean({ description: 'Whether more can be read at once.' }),
  },
  { description: 'A part of the feed, the oldest first unless it looks back.' },
);
/** The type of {@link EventList}. */
export type EventList = Static<typeof EventList>;

/**
 * One line of `GET /events/v1/types`.
 *
 * @example
 * const captured = items.find(({ type }) => type === 'transaction.captured');
 */
export const EventTypeView = Type.Object({
  type: Type.String({ examples: ['transaction.captured'] }),
  description: Type.String(),
  schema: Type.Record(Type.String(), Type.Unknown(), { description: 'The JSON Schema of `data`.' }),
  example: Type.Record(Type.String(), Type.Unknown(), { description: 'A `data` for show.' }),
});
/** The type of {@link EventTypeView}. */
export type EventTypeView = Static<typeof EventTypeView>;

/**
 * `GET /events/v1/types`: the catalogue.
 *
 * @example
 * const { items } = (await response.json()) as EventTypeList;
 */
export const EventTypeList = Type.Object({ items: Type.Array(EventTypeView) });
/** The type of {@link EventTypeList}. */
export type EventTypeList = Static<typeof EventTypeList>;
