// A client of Server-Sent Events for tests: it records each event and the end of the stream.
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { defined } from '@switchyard/contract';
import { eventually } from './wait-for-condition.ts';

export type ReceivedEvent = { id?: number; type: string; data: unknown };

export type EventStream = {
  status: number;
  headers: IncomingMessage['headers'];
  /** The whole body of a response that is not an event stream. */
  body(): Promise<string>;
  /** All events except the end event, in the order of arrival. */
  readonly events: ReceivedEvent[];
  heartbeats(): number;
  /** The last `retry` value that the server sent. */
  retryMs(): number | undefined;
  /** The value that a client sends as `Last-Event-ID` when it reconnects. */
  lastEventId(): number | undefined;
  /**
   * The reason in the end event, 'cut' after a lost connection, undefined while the stream is open.
   */
  endReason(): string | undefined;
  /** Waits for the end of the stream. */
  waitForEnd(): Promise<string>;
  /** Waits until this number of events has arrived. */
  waitForEvents(count: number, withinMs?: number): Promise<ReceivedEvent[]>;
  pause(): void;
  resume(): void;
  /** Destroys the connection without a close, as when a terminal loses power. */
  destroy(): void;
};

export type EventStreamOptions = {
  headers?: Record<string, string>;
  token?: string;
  lastEventId?: number | string;
  ca?: string;
  cert?: string;
  key?: string;
};

function headersOf({
  headers = {},
  token,
  lastEventId,
}: EventStreamOptions): Record<string, string> {
  return {
    accept: 'text/event-stream',
    ...defined({
      authorization: token === undefined ? undefined : `Bearer ${token}`,
      'last-event-id': lastEventId === undefined ? undefined : String(lastEventId),
    }),
    ...headers,
  };
}

/** Splits the received text into blocks and parses them by the rules of WHATWG HTML, 9.2.6. */
function createBlockParser(onBlock: (block: Record<string, string>) => void) {
  let unparsed = '';
  return (chunk: string) => {
    const blocks = (unparsed + chunk).split('\n\n');
    unparsed = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields: Record<string, string> = {};
      for (const line of block.split('\n')) {
        const colon = line.indexOf(':');
        const name = line.slice(0, colon);
        const value = line.slice(colon + 1).replace(/^ /, '');
        fields[name] = fields[name] === undefined ? value : `${fields[name]}\n${value}`;
      }
      onBlock(fields);
    }
  };
}

/** Resolves when the headers of the response arrive. */
export async function openEventStream(
  url: string,
  options: EventStreamOptions = {},
): Promise<EventStream> {
  const send = url.startsWith('https:') ? tlsRequest : plainRequest;
  const request = send(url, {
    headers: headersOf(options),
    agent: false,
    ...defined({
      ca: options.ca,
      cert: options.cert,
      key: options.cert === undefined ? undefined : options.key,
    }),
  });
  request.end();
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    request.once('error', reject);
  });
  const events: ReceivedEvent[] = [];
  const isStream = response.headers['content-type'] === 'text/event-stream';
  let heartbeats = 0;
  let retryMs: number | undefined;
  let lastEventId: number | undefined;
  let endReason: string | undefined;
  let text = '';
  const parseChunk = createBlockParser(({ id, event, data, retry, '': comment }) => {
    if (comment !== undefined) heartbeats += 1;
    if (retry !== undefined) retryMs = Number(retry);
    if (id !== undefined) lastEventId = Number(id);
    if (data === undefined) return;
    const parsed: unknown = JSON.parse(data);
    if (event === 'end') endReason = (parsed as { reason: string }).reason;
    else events.push({ ...(id && { id: Number(id) }), type: event ?? 'message', data: parsed });
  });
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    text += isStream ? '' : chunk;
    if (isStream) parseChunk(chunk);
  });
  const closed = new Promise<void>((resolve) => {
    request.on('error', () => {});
    response.on('error', () => {});
    response.once('close', () => {
      endReason ??= response.complete ? 'nothing said' : 'cut';
      resolve();
    });
  });

  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    body: async () => {
      await closed;
      return text;
    },
    heartbeats: () => heartbeats,
    retryMs: () => retryMs,
    lastEventId: () => lastEventId,
    endReason: () => endReason,
    waitForEnd: async () => {
      await closed;
      return endReason ?? '';
    },
    async waitForEvents(count, withinMs) {
      await eventually(`${count} events`, () => events.length >= count, withinMs);
      return events;
    },
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    destroy: () => response.socket.destroy(),
  };
}
