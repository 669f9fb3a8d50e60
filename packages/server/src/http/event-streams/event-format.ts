// Formats Server-Sent Events (WHATWG HTML, 9.2) and reads the headers of their clients.
import { ProblemError } from '@switchyard/contract';
import type { FastifyRequest } from 'fastify';
import { prefersMediaType } from '../requests/media-types.ts';

export const eventStreamType = 'text/event-stream';
const cursorPattern = /^(?:0|[1-9][0-9]{0,15})$/;
const lineEnd = /\r\n|\r|\n/;

export type StreamEvent = {
  /** The position in its list, which a client sends as Last-Event-ID to continue after it. */
  readonly id: number;
  readonly type: string;
  /** JSON text. */
  readonly data: string;
};

/** Data of several lines becomes several data fields. */
export function formatEvent({ id, type, data }: StreamEvent): string {
  const lines = lineEnd.test(data) ? data.split(lineEnd).join('\ndata: ') : data;
  return `id: ${id}\nevent: ${type}\ndata: ${lines}\n\n`;
}

/**
 * The reconnection time and the start position, so that a client that reconnects before the first event
 * continues at the same position.
 */
export const formatStreamStart = (after: number, ms: number): string =>
  `id: ${after}\nretry: ${ms}\n\n`;

/** A comment that keeps the connection alive. */
export const heartbeatText = ':\n\n';

/** The reason of the end, so that the client does not take it for a lost connection. */
export const formatStreamEnd = (reason: string): string =>
  `event: end\ndata: ${JSON.stringify({ reason })}\n\n`;

/** Whether the client accepts a stream explicitly; otherwise it gets JSON. */
export function wantsEventStream(request: Pick<FastifyRequest, 'headers'>): boolean {
  return prefersMediaType(request.headers.accept, eventStreamType, 'application/json');
}

/**
 * The position of the client: Last-Event-ID of a reconnected stream wins over the query parameter.
 *
 * @throws ProblemError header_invalid
 */
export function readStreamCursor(request: Pick<FastifyRequest, 'headers'>, after = 0): number {
  const header = request.headers['last-event-id'];
  if (header === undefined || header === '') return after;
  const cursor =
    typeof header === 'string' && cursorPattern.test(header) ? Number(header) : Number.NaN;
  if (Number.isSafeInteger(cursor)) return cursor;
  throw new ProblemError(
    'header_invalid',
    'Last-Event-ID is not the id of an event; send the last id that you received.',
  );
}
