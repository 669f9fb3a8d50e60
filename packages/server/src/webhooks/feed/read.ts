// Reads the feed behind a position: a bounded part of it, and of that what the caller wants and may see.
import {
  defined,
  eventTypes,
  isEventPattern,
  matchesEventType,
  refuse,
} from '@switchyard/contract';
import { type Caller, merchantOf, type StreamPage } from '../../http/index.ts';
import type { Database } from '../../platform/index.ts';
import { type FoundEvent, findEvents, positionsOf } from './read-store.ts';

/** What a look walks through, however few of them are wanted: the next one goes on behind them. */
export const scannedMax = 1000;
const patternsMax = 100;

export type FeedFilters = { readonly types?: string; readonly merchantId?: string };

type Wanted = {
  readonly organizationId: string;
  /** Left out: all. */
  readonly types?: readonly string[];
  readonly merchantId?: string;
};

/** `end` is how far the feed goes. */
export type FeedPart = StreamPage & { readonly end: number };
export type FeedPartBack = Pick<FeedPart, 'events' | 'end'> & { readonly next: number | undefined };

export type FeedReader = ReturnType<typeof createFeedReader>;

function refuseQuery(member: string, detail: string): never {
  const pointer = `?${member}`;
  return refuse('field_invalid', `${member}: ${detail}`, {
    errors: [{ pointer, code: 'field_invalid', detail }],
  });
}

/** @throws Refusal field_invalid where a pattern can match nothing: a slip would wait for ever */
function typesOf(text: string | undefined): { types?: readonly string[] } {
  if (text === undefined) return {};
  const patterns = text.split(',');
  if (patterns.length > patternsMax) refuseQuery('types', `Names more than ${patternsMax} types.`);
  if (!patterns.every(isEventPattern))
    refuseQuery('types', 'Names a type of event that there is not.');
  if (patterns.includes('*')) return {};
  return { types: eventTypes.filter((type) => matchesEventType(patterns, type)) };
}

/** A merchant sees what is its own, and nothing of the organisation around it. */
function merchantWanted(caller: Caller, asked: string | undefined): { merchantId?: string } {
  const own = merchantOf(caller);
  const wanted = asked?.toLowerCase();
  if (own !== undefined && wanted !== undefined && wanted !== own) {
    refuse('entity_out_of_scope', 'The token belongs to another merchant.');
  }
  const merchantId = own ?? wanted;
  return defined({ merchantId });
}

const streamed = (event: FoundEvent) => ({
  id: event.position,
  type: event.type,
  data: itemText(event),
});

/** The same as the stored body, with what the feed knows of it in front: nothing is read to be written. */
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

    /** Up to where the feed goes now. */
    async end(organizationId: string): Promise<number> {
      return (await positionsOf(database, [organizationId])).get(organizationId) ?? 0;
    },

    /** For those who wait: how far the feeds of these organisations go. */
    ends: (organizationIds: readonly string[]) => positionsOf(database, organizationIds),

    /**
     * Events behind a position, 0 for the oldest there are.
     *
     * @throws Refusal events_forgotten, cursor_invalid
     */
    async read(wanted: Wanted, after: number, limit: number): Promise<FeedPart> {
      const found = await findEvents(database, { ...wanted, after, limit, scannedMax });
      if (after > 0 && after < found.swept) {
        refuse('events_forgotten', `The oldest event is behind position ${found.swept}.`);
      }
      if (after > found.position) {
        refuse('cursor_invalid', 'The feed has not come to this position.', {
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

    /** The other way round, 0 from the newest: `next` is undefined where nothing lies before. */
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
