/** Reads Server-Sent Events (WHATWG HTML, 9.2.6) from bytes as they arrive. */

export type StreamEvent = { readonly type: string; readonly data: string };

const bufferedMax = 1_048_576;

export function createEventReader(): { read(piece: Uint8Array): StreamEvent[] } {
  const decoder = new TextDecoder('utf-8');
  let rest = '';
  let type = '';
  let data: string[] = [];
  let dataLength = 0;

  function take(line: string, found: StreamEvent[]): void {
    if (line === '') {
      if (data.length > 0) found.push({ type: type || 'message', data: data.join('\n') });
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
    if (dataLength > bufferedMax) throw new Error('an event is too long');
  }

  return {
    read(piece) {
      const found: StreamEvent[] = [];
      rest += decoder.decode(piece, { stream: true });
      // A carriage return at the end may be the first half of a line end.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      if (rest.length > bufferedMax) throw new Error('an event is too long');
      for (const line of lines) take(line, found);
      return found;
    },
  };
}
