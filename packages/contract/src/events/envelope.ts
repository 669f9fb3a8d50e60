/** How events look: as a body of a webhook, as an item of the feed, and in lists. */
import { type Static, Type } from 'typebox';
import { Timestamp } from '../schemas/values.ts';

/**
 * The body that receivers of webhooks get, in the form of Standard Webhooks.
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
  { description: 'What has happened.' },
);
/** What the schema {@link EventBody} describes. */
export type EventBody = Static<typeof EventBody>;

/**
 * An event as the feed lists it: the body that webhooks carry, with its identifier and its position.
 *
 * @example
 * const { items, nextAfter } = (await response.json()) as EventPage;
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
/** What the schema {@link FeedItem} describes. */
export type FeedItem = Static<typeof FeedItem>;

/**
 * `GET /events/v1`: what has happened behind a position.
 *
 * @example
 * const page = (await response.json()) as EventPage;
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
/** What the schema {@link EventList} describes. */
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
/** What the schema {@link EventTypeView} describes. */
export type EventTypeView = Static<typeof EventTypeView>;

/**
 * `GET /events/v1/types`: the catalogue.
 *
 * @example
 * const { items } = (await response.json()) as EventTypeList;
 */
export const EventTypeList = Type.Object({ items: Type.Array(EventTypeView) });
/** What the schema {@link EventTypeList} describes. */
export type EventTypeList = Static<typeof EventTypeList>;
