/** Prints explained messages as text. */
import { escapeText } from '../output/escape-text.ts';
import type { ExplainedElement, ExplainedMessage } from './explain-message.ts';

const bytesPerLine = 12;
const offsetWidth = 6;
const fieldWidth = 6;

/** Pairs of digits, a line for every twelve bytes. */
function byteLines(bytes: string): string[] {
  const pairs = bytes.match(/../g) ?? [];
  const lines: string[] = [];
  for (let at = 0; at < pairs.length; at += bytesPerLine)
    lines.push(pairs.slice(at, at + bytesPerLine).join(' '));
  return lines.length === 0 ? [''] : lines;
}

function elementLines(element: ExplainedElement): string[] {
  const { offset, field = '', name, value, format, meaning, source, parts = [] } = element;
  const bytesWidth = bytesPerLine * 3 - 1;
  const title = format === undefined ? name : `${name} (${format})`;
  const origin = source && `from ${source}`;
  const text = [`${title}: ${value}`, meaning, origin]
    .filter((each) => each !== undefined)
    .join(' · ');
  const description = [
    text,
    ...parts.map(({ id, name: part, value: partValue }) => {
      return `  ${id}${part === '' ? '' : ` ${part}`}: ${partValue}`;
    }),
  ];
  const bytes = byteLines(element.bytes);
  const count = Math.max(bytes.length, description.length);
  return Array.from({ length: count }, (_, at) => {
    const lineBytes = bytes[at];
    const position = lineBytes === undefined ? '' : String(offset + at * bytesPerLine);
    return [
      position.padStart(offsetWidth),
      (lineBytes ?? '').padEnd(bytesWidth),
      (at === 0 ? field : '').padStart(fieldWidth),
      escapeText(description[at] ?? ''),
    ]
      .join('  ')
      .trimEnd();
  });
}

/** One line for each element, and further lines for long values and their parts. */
export function formatExplanation({ message, elements }: ExplainedMessage): string {
  const length = elements.reduce((sum, { bytes }) => sum + bytes.length / 2, 0);
  const lines = [`${message}, ${length} bytes`, ...elements.flatMap(elementLines)];
  return lines.map((line) => `${line}\n`).join('');
}
