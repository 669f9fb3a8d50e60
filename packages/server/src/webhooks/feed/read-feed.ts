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
import { type FoundEvent, findEvents, findFeedEnds } from './read-feed-sql.ts';

/** The maximum number of events that one read scans; the next read continues after them. */
export const scannedMax = 1000;
const patternsMax = 100;

export type FeedFilters = { readonly types?: string; readonly merchantId?: string };

type FeedQuery = {
  readonly organizationId: string;
  /** All types if it is missing. */
  readonly types?: readonly string[];
  readonly merchantId?: string;
};

/** `end` is the last position of the feed. */
export type FeedPage = StreamPage & { readonly end: number };
export type BackwardFeedPage = Pick<FeedPage, 'events' | 'end'> & {
  readonly next: number | undefined;
};

export type FeedReader = ReturnType<typeof createFeedReader>;

function throwQueryProblem(member: string, detail: string): never {
  const pointer = `?${member}`;
  return throwProblem('field_invalid', `${member}: ${detail}`, {
    errors: [{ pointer, code: 'field_invalid', detail }],
  });
}

/**
 * @throws ProblemError field_invalid if a pattern matches no type, because the client would wait for
 * ever
 */
function parseTypes(text: string | undefined): { types?: readonly string[] } {
  if (text === undefined) return {};
  const patterns = text.split(',');
  if (patterns.length > patternsMax)
    throwQueryProblem('types', `Names more than ${patternsMax} types.`);
  if (!patterns.every(isEventPattern))
    throwQueryProblem('types', 'Contains an unknown event type.');
  if (patterns.includes('*')) return {};
  return { types: eventTypes.filter((type) => matchesEventType(patterns, type)) };
}

/** A merchant sees only its own events. */
function requireMerchantScope(
  caller: Caller,
  requested: string | undefined,
): { merchantId?: string } {
  const callerMerchantId = merchantOf(caller);
  const requestedMerchantId = requested?.toLowerCase();
  if (
    callerMerchantId !== undefined &&
    requestedMerchantId !== undefined &&
    requestedMerchantId !== callerMerchantId
  ) {
    throwProblem('entity_out_of_scope', 'The token belongs to another merchant.');
  }
  const merchantId = callerMerchantId ?? requestedMerchantId;
  return defined({ merchantId });
}

const toStreamEvent = (event: FoundEvent) => ({
  id: event.position,
  type: event.type,
  data: formatItem(event),
});

/**
 * The stored body with its identifier and position in front; the server does not parse it again.
 */
const formatItem = ({ eventId, position, body }: FoundEvent) =>
  `{"eventId":"${eventId}","position":${position},${body.slice(1)}`;

/** @example const { read } = createFeedReader(database); */
export function createFeedReader(database: Database) {
  return {
    toFeedQuery: (caller: Caller, { types, merchantId }: FeedFilters): FeedQuery => ({
      organizationId: caller.organizationId,
      ...parseTypes(types),
      ...requireMerchantScope(caller, merchantId),
    }),

    /** The last position of the feed now. */
    async findEnd(organizationId: string): Promise<number> {
      return (await findFeedEnds(database, [organizationId])).get(organizationId) ?? 0;
    },

    /** The last positions of the feeds of these organisations, for waiting readers. */
    findEnds: (organizationIds: readonly string[]) => findFeedEnds(database, organizationIds),

    /**
     * Returns events after a position; 0 means from the oldest event.
     *
     * @throws ProblemError events_forgotten, cursor_invalid
     */
    async read(feedQuery: FeedQuery, after: number, limit: number): Promise<FeedPage> {
      const result = await findEvents(database, { ...feedQuery, after, limit, scannedMax });
      if (after > 0 && after < result.deletedUpTo) {
        throwProblem(
          'events_forgotten',
          `The events up to position ${result.deletedUpTo} are deleted. Continue with after=${result.deletedUpTo}.`,
        );
      }
      if (after > result.endPosition) {
        throwProblem('cursor_invalid', 'The feed has not reached this position.', {
          errors: [
            { pointer: '?after', code: 'cursor_invalid', detail: 'Is after the end of the feed.' },
          ],
        });
      }
      const { events } = result;
      const isFull = events.length === limit;
      const last = isFull ? events.at(-1)?.position : result.scannedPosition;
      return {
        events: events.map(toStreamEvent),
        next: last ?? after,
        end: result.endPosition,
      };
    },

    /**
     * Reads backwards; 0 means from the newest event. `next` is undefined if no older events exist.
     */
    async readBackwards(
      feedQuery: FeedQuery,
      before: number,
      limit: number,
    ): Promise<BackwardFeedPage> {
      const from = before === 0 ? Number.MAX_SAFE_INTEGER : before;
      const result = await findEvents(database, { ...feedQuery, before: from, limit, scannedMax });
      const { events, scannedPosition } = result;
      const last = events.length === limit ? events.at(-1)?.position : scannedPosition;
      const hasMore = last !== undefined && last > result.deletedUpTo + 1;
      return {
        events: events.map(toStreamEvent),
        next: hasMore ? last : undefined,
        end: result.endPosition,
      };
    },
  };
}
