// Writes Server-Sent Events (WHATWG HTML, 9.2) as text, and reads what a client says of them.
import { Refusal } from '@switchyard/contract';
import type { FastifyRequest } from 'fastify';
import { prefersMediaType } from '../requests/media-types.ts';

export const eventStreamType = 'text/event-stream';
const cursorPattern = /^(?:0|[1-9][0-9]{0,15})$/;
const lineEnd = /\r\n|\r|\n/;

export type StreamEvent = {
  /** The place in its list: what a client names to go on behind it. */
  readonly id: number;
  readonly type: string;
  /** JSON text as it is stored. */
  readonly data: string;
};

/** JSON text of ours is one line; a body of another kind is sent in the lines that it has. */
export function formatEvent({ id, type, data }: StreamEvent): string {
  const lines = lineEnd.test(data) ? data.split(lineEnd).join('\ndata: ') : data;
  return `id: ${id}\nevent: ${type}\ndata: ${lines}\n\n`;
}

/**
 * How long a client waits before it comes back after a break, and where it goes on then: who began at
 * what is new has no other id before the first event.
 */
export const formatStreamStart = (after: number, ms: number): string =>
  `id: ${after}\nretry: ${ms}\n\n`;

/** Nothing is said; it shows proxies and both ends that the connection lives. */
export const heartbeatText = ':\n\n';

/** Why the stream ends, for the client that would otherwise take it for a break. */
export const formatStreamEnd = (reason: string): string =>
  `event: end\ndata: ${JSON.stringify({ reason })}\n\n`;

/** Whether the client asks for a stream, by name: everybody else gets JSON. */
export function wantsEventStream(request: Pick<FastifyRequest, 'headers'>): boolean {
  return prefersMediaType(request.headers.accept, eventStreamType, 'application/json');
}

/**
 * Where a client goes on: the header of a stream that came back counts before the query it began with.
 *
 * @throws Refusal header_invalid
 */
export function readStreamCursor(request: Pick<FastifyRequest, 'headers'>, after = 0): number {
  const header = request.headers['last-event-id'];
  if (header === undefined || header === '') return after;
  const cursor =
    typeof header === 'string' && cursorPattern.test(header) ? Number(header) : Number.NaN;
  if (Number.isSafeInteger(cursor)) return cursor;
  throw new Refusal('header_invalid', 'Last-Event-ID is not the id of an event.');
}
