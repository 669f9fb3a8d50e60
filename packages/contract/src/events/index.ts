/** The catalogue of events: every type that is published, with the schema of what it says. */
import { type Static, Type } from 'typebox';
import { Timestamp } from '../schemas/values.ts';
import type { EventDefinition } from './definition.ts';
import { estateEvents, publishedActions } from './estate-events.ts';
import { operationEvents } from './operation-events.ts';
import { qrEvents } from './qr-events.ts';
import { transactionEvents, transactionMeanings } from './transaction-events.ts';

export type { EventDefinition };
export { publishedActions, transactionMeanings };

/**
 * Every type of event that is published, by its name.
 *
 * @example
 * const meaning = eventDefinitions.get('transaction.captured')?.description;
 */
export const eventDefinitions: ReadonlyMap<string, EventDefinition> = new Map(
  [...transactionEvents, ...qrEvents, ...operationEvents, ...estateEvents].map((definition) => [
    definition.type,
    definition,
  ]),
);

/**
 * The names of all types, in the order of the reference.
 *
 * @example
 * const payments = eventTypes.filter((type) => type.startsWith('transaction.'));
 */
export const eventTypes: readonly string[] = [...eventDefinitions.keys()];

/**
 * Whether something of this name is published.
 *
 * @param type - such as `transaction.captured`
 * @returns true for a name of the catalogue
 * @example
 * isEventType('transaction.capture'); // false
 */
export const isEventType = (type: string): boolean => eventDefinitions.has(type);

/**
 * What may stand in a list of wanted types: a type, all types of one family, or `*` for all.
 *
 * @example
 * const schema = Type.Array(EventTypePattern, { minItems: 1 });
 */
export const EventTypePattern = Type.String({
  maxLength: 64,
  pattern: '^(?:\\*|[a-z_]{1,40}\\.(?:\\*|[a-z_]{1,40}))$',
  description: 'A type of event, all of a family (`transaction.*`), or all there are (`*`).',
  examples: ['transaction.captured'],
});

/**
 * Whether a pattern speaks of anything that is published.
 *
 * @param pattern - a type, `family.*` or `*`
 * @returns false where no event could ever match
 * @example
 * isEventPattern('transaction.*'); // true
 */
export const isEventPattern = (pattern: string): boolean =>
  eventTypes.some((type) => matchesEventType([pattern], type));

/**
 * Whether an event of this type is wanted.
 *
 * @param patterns - types, `family.*`, or `*`
 * @param type - of the event
 * @returns true where one of the patterns says so
 * @example
 * matchesEventType(['transaction.*'], 'transaction.captured'); // true
 */
export const matchesEventType = (patterns: readonly string[], type: string): boolean =>
  patterns.some(
    (pattern) =>
      pattern === '*' ||
      pattern === type ||
      (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))),
  );

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
export const EventPage = Type.Object(
  {
    items: Type.Array(FeedItem),
    nextAfter: Type.Integer({
      minimum: 0,
      description: 'Ask with `after` of this next time: also where nothing was found.',
    }),
    hasMore: Type.Boolean({ description: 'Whether more can be read at once.' }),
  },
  { description: 'A part of the feed, the oldest first.' },
);
/** What the schema {@link EventPage} describes. */
export type EventPage = Static<typeof EventPage>;

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
