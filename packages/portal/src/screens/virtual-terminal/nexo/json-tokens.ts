/** Indents JSON and splits it into tokens for highlighting. */

export type JsonToken = {
  readonly kind: 'key' | 'text' | 'number' | 'word' | 'mark';
  readonly text: string;
};

const parts = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)|([^"\d\-tfn]+|.)/g;

export function indentJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    // A terminal may send text that is not JSON.
    return text;
  }
}

/** The tokens in order; together they are the complete text. */
export function jsonTokens(text: string): readonly JsonToken[] {
  return [...text.matchAll(parts)].flatMap(
    ([, quoted, colon, number, word, punctuation]): JsonToken[] => {
      if (quoted !== undefined && colon !== undefined) {
        return [
          { kind: 'key', text: quoted },
          { kind: 'mark', text: colon },
        ];
      }
      if (quoted !== undefined) return [{ kind: 'text', text: quoted }];
      if (number !== undefined) return [{ kind: 'number', text: number }];
      return [
        word === undefined
          ? { kind: 'mark', text: punctuation ?? '' }
          : { kind: 'word', text: word },
      ];
    },
  );
}
