/** Makes text from outside harmless: nothing in a name may steer a terminal or hide what stands there. */

/** Controls, invisible formatting such as direction marks, line separators, lone surrogates. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const hex = (code: number, width: number): string => code.toString(16).padStart(width, '0');

/** For one line of a terminal: whatever is not plainly visible is spelled out. */
export function visible(text: string): string {
  return text.replace(unsafe, (found) => `\\u{${hex(found.codePointAt(0) ?? 0, 2)}}`);
}

/** JSON that stays JSON and holds no character that a terminal would act upon. */
export function jsonText(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent) ?? 'null';
  return text.replace(unsafe, (found) =>
    found === '\n'
      ? found
      : Array.from({ length: found.length }, (_, at) => `\\u${hex(found.charCodeAt(at), 4)}`).join(
          '',
        ),
  );
}

const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/u;
const mark = /\p{M}/u;

function cellsOf(character: string): number {
  if (mark.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** How many cells of a terminal a visible text takes. */
export function widthOf(text: string): number {
  let cells = 0;
  for (const character of text) cells += cellsOf(character);
  return cells;
}

/** Cut to so many cells, with an ellipsis where something was cut off. */
export function cutTo(text: string, cells: number): string {
  if (widthOf(text) <= cells) return text;
  let kept = '';
  let used = 0;
  for (const character of text) {
    const next = cellsOf(character);
    if (used + next > cells - 1) break;
    kept += character;
    used += next;
  }
  return `${kept}…`;
}

/** The same, with the end kept. */
export function cutInFront(text: string, cells: number): string {
  const turned = [...text].reverse().join('');
  return [...cutTo(turned, cells)].reverse().join('');
}
