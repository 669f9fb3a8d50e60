/** Parses server-sent events (WHATWG HTML, 9.2.6), with a limit of their size. */
import { fail } from '../runtime/command-error.ts';

export type ServerSentEvent = {
  readonly id?: string;
  readonly type: string;
  /** Absent in a block that only sets the id or the retry time. */
  readonly data?: string;
  /** How long to wait before the next connection. */
  readonly retryMs?: number;
};

const eventMaxChars = 1_048_576;

type Fields = { id?: string; type: string; data?: string; retryMs?: number };

function parseField(fields: Fields, line: string): void {
  const colon = line.indexOf(':');
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
  if (name === 'data') fields.data = fields.data === undefined ? value : `${fields.data}\n${value}`;
  else if (name === 'event') fields.type = value;
  else if (name === 'id' && !value.includes('\0')) fields.id = value;
  else if (name === 'retry' && /^[0-9]{1,9}$/.test(value)) fields.retryMs = Number(value);
}

/** @example for await (const { type, data } of parseServerSentEvents(stream)) show(type, data); */
export async function* parseServerSentEvents(
  text: AsyncIterable<string>,
): AsyncGenerator<ServerSentEvent> {
  let rest = '';
  let isFirst = true;
  let chars = 0;
  let fields: Fields = { type: 'message' };
  for await (const part of text) {
    rest += isFirst ? part.replace(/^\ufeff/, '') : part;
    isFirst = false;
    // A CR at the end may be the first half of CRLF.
    for (let end = /\r\n|\n|\r(?!$)/.exec(rest); end !== null; end = /\r\n|\n|\r(?!$)/.exec(rest)) {
      const line = rest.slice(0, end.index);
      rest = rest.slice(end.index + end[0].length);
      chars += line.length;
      if (line !== '') {
        parseField(fields, line);
        continue;
      }
      yield fields;
      fields = { type: 'message' };
      chars = 0;
    }
    if (chars + rest.length > eventMaxChars)
      fail('fault', `The server sent an event of more than ${eventMaxChars} characters.`);
  }
}
