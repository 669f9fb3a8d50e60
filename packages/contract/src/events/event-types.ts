/** The published event types, and the patterns that select them. */
import { Type } from 'typebox';
import { devicePresenceEvents } from './device-presence-events.ts';
import { estateEvents } from './estate-events.ts';
import type { EventDefinition } from './event-definition.ts';
import { operationEvents } from './operation-events.ts';
import { qrEvents } from './qr-events.ts';
import { retailEvents } from './retail-events.ts';
import { transactionEvents } from './transaction-events.ts';

export type { EventDefinition };

/**
 * Every type of event that is published, by its name.
 *
 * @example
 * const meaning = eventDefinitions.get('transaction.captured')?.description;
 */
export const eventDefinitions: ReadonlyMap<string, EventDefinition> = new Map(
  [
    ...transactionEvents,
    ...qrEvents,
    ...retailEvents,
    ...devicePresenceEvents,
    ...operationEvents,
    ...estateEvents,
  ].map((definition) => [definition.type, definition]),
);

/**
 * The names of all types, in the order of the reference.
 *
 * @example
 * const payments = eventTypes.filter((type) => type.startsWith('transaction.'));
 */
export const eventTypes: readonly string[] = [...eventDefinitions.keys()];

/**
 * Whether an event type is published.
 *
 * @param type - for example `transaction.captured`
 * @returns true for a type of the catalogue
 * @example
 * isEventType('transaction.capture'); // false
 */
export const isEventType = (type: string): boolean => eventDefinitions.has(type);

/**
 * A pattern in a list of wanted event types: a type, all types of one family, or `*` for all.
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
 * Whether a pattern matches at least one published type.
 *
 * @param pattern - a type, `family.*` or `*`
 * @returns false if no event can ever match
 * @example
 * isEventPattern('transaction.*'); // true
 */
export const isEventPattern = (pattern: string): boolean =>
  eventTypes.some((type) => matchesEventType([pattern], type));

/**
 * Whether an event type matches a list of patterns.
 *
 * @param patterns - types, `family.*`, or `*`
 * @param type - the type of the event
 * @returns true if one of the patterns matches
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
