// Reads a bounded part of the feed after a position, within the caller's filters and scope.
import {
  defined,
  eventTypes,
  isEventPattern,
  matchesEventType,
  throwProblem,
} from '@switchyard/contract';
import { type Caller, merchantOf, type StreamPage } from '../../http/index.ts';
import type { Database } from '../../platform/index.ts';
import { type FoundEvent, findEvents, positionsOf } from './read-feed-sql.ts';

/** The maximum number of events that one read scans; the next read continues after them. */
export const scannedMax = 1000;
const patternsMax = 100;

export type FeedFilters = { readonly types?: string; readonly merchantId?: string };

type Wanted = {
  readonly organizationId: string;
  /** All types if it is missing. */
  readonly types?: readonly string[];
  readonly merchantId?: string;
};

/** `end` is the last position of the feed. */
export type FeedPart = StreamPage & { readonly end: number };
export type FeedPartBack = Pick<FeedPart, 'events' | 'end'> & { readonly next: number | undefined };

export type FeedReader = ReturnType<typeof createFeedReader>;

function refuseQuery(member: string, detail: string): never {
  const pointer = `?${member}`;
  return throwProblem('field_invalid', `${member}: ${detail}`, {
    errors: [{ pointer, code: 'field_invalid', detail }],
  });
}

/**
 * @throws Refusal field_invalid if a pattern matches no type, because the client would wait for
 * ever
 */
function typesOf(text: string | undefined): { types?: readonly string[] } {
  if (text === undefined) return {};
  const patterns = text.split(',');
  if (patterns.length > patternsMax) refuseQuery('types', `Names more than ${patternsMax} types.`);
  if (!patterns.every(isEventPattern))
    refuseQuery('types', 'Names a type of event that there is not.');
  if (patterns.includes('*')) return {};
  return { types: eventTypes.filter((type) => matchesEventType(patterns, type)) };
}

/** A merchant sees only its own events. */
function merchantWanted(caller: Caller, asked: string | undefined): { merchantId?: string } {
  const own = merchantOf(caller);
  const wanted = asked?.toLowerCase();
  if (own !== undefined && wanted !== undefined && wanted !== own) {
    throwProblem('entity_out_of_scope', 'The token belongs to another merchant.');
  }
  const merchantId = own ?? wanted;
  return defined({ merchantId });
}

const streamed = (event: FoundEvent) => ({
  id: event.position,
  type: event.type,
  data: itemText(event),
});

/**
 * The stored body with its identifier and position in front; the server does not parse it again.
 */
const itemText = ({ eventId, position, body }: FoundEvent) =>
  `{"eventId":"${eventId}","position":${position},${body.slice(1)}`;

/** @example const { read } = createFeedReader(database); */
export function createFeedReader(database: Database) {
  return {
    wanted: (caller: Caller, { types, merchantId }: FeedFilters): Wanted => ({
      organizationId: caller.organizationId,
      ...typesOf(types),
      ...merchantWanted(caller, merchantId),
    }),

    /** The last position of the feed now. */
    async end(organizationId: string): Promise<number> {
      return (await positionsOf(database, [organizationId])).get(organizationId) ?? 0;
    },

    /** The last positions of the feeds of these organisations, for waiting readers. */
    ends: (organizationIds: readonly string[]) => positionsOf(database, organizationIds),

    /**
     * Returns events after a position; 0 means from the oldest event.
     *
     * @throws Refusal events_forgotten, cursor_invalid
     */
    async read(wanted: Wanted, after: number, limit: number): Promise<FeedPart> {
      const found = await findEvents(database, { ...wanted, after, limit, scannedMax });
      if (after > 0 && after < found.swept) {
        throwProblem('events_forgotten', `The oldest event is behind position ${found.swept}.`);
      }
      if (after > found.position) {
        throwProblem('cursor_invalid', 'The feed has not come to this position.', {
          errors: [
            { pointer: '?after', code: 'cursor_invalid', detail: 'Lies ahead of the feed.' },
          ],
        });
      }
      const { events } = found;
      const isFull = events.length === limit;
      const last = isFull ? events.at(-1)?.position : found.scanned;
      return {
        events: events.map(streamed),
        next: last ?? after,
        end: found.position,
      };
    },

    /**
     * Reads backwards; 0 means from the newest event. `next` is undefined if no older events exist.
     */
    async readBack(wanted: Wanted, before: number, limit: number): Promise<FeedPartBack> {
      const from = before === 0 ? Number.MAX_SAFE_INTEGER : before;
      const found = await findEvents(database, { ...wanted, before: from, limit, scannedMax });
      const { events, scanned } = found;
      const last = events.length === limit ? events.at(-1)?.position : scanned;
      const hasMore = last !== undefined && last > found.swept + 1;
      return {
        events: events.map(streamed),
        next: hasMore ? last : undefined,
        end: found.position,
      };
    },
  };
}
