/** Reads Server-Sent Events (WHATWG HTML, 9.2.6) from bytes as they arrive. */

export type ServerSentEvent = { readonly type: string; readonly data: string };

const bufferedCharactersMax = 1_048_576;

export function createEventParser(): { parse(chunk: Uint8Array): ServerSentEvent[] } {
  const decoder = new TextDecoder('utf-8');
  let incompleteLine = '';
  let type = '';
  let data: string[] = [];
  let dataLength = 0;

  function parseLine(line: string, events: ServerSentEvent[]): void {
    if (line === '') {
      if (data.length > 0) events.push({ type: type || 'message', data: data.join('\n') });
      type = '';
      data = [];
      dataLength = 0;
      return;
    }
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') type = value;
    if (name !== 'data') return;
    data.push(value);
    dataLength += value.length + 1;
    // The limit also covers an event of many short lines that never ends.
    if (dataLength > bufferedCharactersMax) throw new Error('an event is too long');
  }

  return {
    parse(chunk) {
      const events: ServerSentEvent[] = [];
      incompleteLine += decoder.decode(chunk, { stream: true });
      // A carriage return at the end may be the first half of a line end.
      const lines = incompleteLine.split(/\r\n|\n|\r(?!$)/);
      incompleteLine = lines.pop() ?? '';
      if (incompleteLine.length > bufferedCharactersMax) throw new Error('an event is too long');
      for (const line of lines) parseLine(line, events);
      return events;
    },
  };
}
