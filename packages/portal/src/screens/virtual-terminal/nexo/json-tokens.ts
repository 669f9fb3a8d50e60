/** JSON for people: indented, and cut into its parts. */

export type Part = {
  readonly kind: 'key' | 'text' | 'number' | 'word' | 'mark';
  readonly text: string;
};

const parts = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)|([^"\d\-tfn]+|.)/g;

export function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    // Not everything that a terminal says is JSON.
    return text;
  }
}

/** In the order in which they stand; together they are the text. */
export function partsOf(text: string): readonly Part[] {
  return [...text.matchAll(parts)].flatMap(([, quoted, colon, number, word, punctuation]): Part[] => {
    if (quoted !== undefined && colon !== undefined) {
      return [
        { kind: 'key', text: quoted },
        { kind: 'mark', text: colon },
      ];
    }
    if (quoted !== undefined) return [{ kind: 'text', text: quoted }];
    if (number !== undefined) return [{ kind: 'number', text: number }];
    return [word === undefined ? { kind: 'mark', text: punctuation ?? '' } : { kind: 'word', text: word }];
  });
}
