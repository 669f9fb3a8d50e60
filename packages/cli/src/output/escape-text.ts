/** Escapes characters in untrusted text that would control a terminal or hide other text. */

/** Controls, invisible formatting such as direction marks, line separators, lone surrogates. */
const unsafeCharacters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const hex = (code: number, width: number): string => code.toString(16).padStart(width, '0');

/** Text for one line of a terminal: control and invisible characters become `\u{…}`. */
export function escapeText(text: string): string {
  return text.replace(unsafeCharacters, (match) => `\\u{${hex(match.codePointAt(0) ?? 0, 2)}}`);
}

/** Valid JSON without characters that would control a terminal. */
export function escapedJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent) ?? 'null';
  return text.replace(unsafeCharacters, (match) =>
    match === '\n'
      ? match
      : Array.from({ length: match.length }, (_, at) => `\\u${hex(match.charCodeAt(at), 4)}`).join(
          '',
        ),
  );
}

const wideCharacters =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/u;
const combiningMark = /\p{M}/u;

function cellsOf(character: string): number {
  if (combiningMark.test(character)) return 0;
  return wideCharacters.test(character) ? 2 : 1;
}

/** The number of terminal cells that a text takes. */
export function displayWidth(text: string): number {
  let cells = 0;
  for (const character of text) cells += cellsOf(character);
  return cells;
}

/** Cuts the end of a text that is wider than `cells`, and marks the cut with an ellipsis. */
export function truncateEnd(text: string, cells: number): string {
  if (displayWidth(text) <= cells) return text;
  let result = '';
  let used = 0;
  for (const character of text) {
    const next = cellsOf(character);
    if (used + next > cells - 1) break;
    result += character;
    used += next;
  }
  return `${result}…`;
}

/** Cuts the start of a text that is wider than `cells`. */
export function truncateStart(text: string, cells: number): string {
  const reversed = [...text].reverse().join('');
  return [...truncateEnd(reversed, cells)].reverse().join('');
}
