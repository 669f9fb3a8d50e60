/** The layout of the window of a simulated terminal, for every window size. */
import type { ScreenContent, TerminalFault } from '@switchyard/simulators';
import type { Colour, Paint } from '../../output/colours.ts';
import { displayWidth, escapeText, truncateEnd } from '../../output/escape-text.ts';
import { padToWidth } from '../../output/line-layout.ts';

export type LogLine = { readonly text: string; readonly colour?: Colour };

export type TerminalView = {
  readonly tsn: string;
  readonly url?: string | undefined;
  readonly cloud: string;
  readonly screen: ScreenContent;
  readonly cards: readonly string[];
  readonly card: string;
  /** The fault of the next payment. */
  readonly fault?: TerminalFault | undefined;
  /** Conditions, such as “no paper”. */
  readonly remarks: readonly string[];
  readonly log: readonly LogLine[];
  /** The receipt, if it is shown in place of the log. */
  readonly receipt?: readonly string[] | undefined;
};

export type WindowSize = { readonly columns: number; readonly rows: number };

/** Key, name and label of each fault. */
export const faultKeys = [
  ['1', 'DropBefore', 'cut before'],
  ['2', 'DropAfter', 'cut after'],
  ['3', 'Delay', 'late'],
  ['4', 'Duplicate', 'twice'],
  ['5', 'Garbage', 'garbage'],
  ['6', 'Reboot', 'restart'],
  ['7', 'Unreachable', 'no host'],
] as const satisfies readonly (readonly [string, TerminalFault, string])[];

const keyWords = ['P paper', 'M maintenance', 'R power off and on', 'V receipt', 'Q quit'] as const;

const margin = '  ';
const boxWidthMax = 30;
/** Border and padding on both sides. */
const boxFrame = 4;
const screenLines = 6;
const cardCells = 17;
const cardRows = 8;
const gap = '   ';
/** The cards are beside the screen from this window width on. */
const wideLayoutMin = margin.length * 2 + boxWidthMax + boxFrame + gap.length + 2 * (cardCells + 2);
const logLinesMin = 4;

const colours: Readonly<Record<ScreenContent['state'], Colour>> = {
  Idle: 'dim',
  Card: 'cyan',
  Pin: 'cyan',
  Asking: 'yellow',
  Approved: 'green',
  Declined: 'red',
  Message: 'bold',
  OutOfService: 'red',
};

/** A part of a line with its colour. */
type TextSpan = { readonly text: string; readonly colour?: Colour | undefined };

function paintSpans(spans: readonly TextSpan[], paint: Paint): string {
  return spans
    .map(({ text, colour }) => (colour === undefined ? text : paint(colour, text)))
    .join('');
}

/** Wraps the spans into lines. */
function wrapSpans(spans: readonly TextSpan[], columns: number, paint: Paint): string[] {
  const lines: TextSpan[][] = [];
  let used = 0;
  for (const span of spans) {
    const cells = displayWidth(span.text) + margin.length;
    if (lines.length === 0 || used + cells > columns) {
      lines.push([]);
      used = 0;
    }
    lines.at(-1)?.push({ text: margin }, span);
    used += cells;
  }
  return lines.map((line) => paintSpans(line, paint));
}

function centreText(text: string, cells: number): string {
  const cut = truncateEnd(escapeText(text), cells);
  const leftPadding = Math.floor((cells - displayWidth(cut)) / 2);
  return padToWidth(' '.repeat(leftPadding) + cut, cells);
}

/** The screen of the terminal with its border. */
function screenBox({ state, lines }: ScreenContent, columns: number, paint: Paint): string[] {
  const cells = Math.max(1, Math.min(boxWidthMax, columns - boxFrame - margin.length));
  const colour = colours[state];
  const visibleLines = lines.slice(0, screenLines);
  const topPadding = Math.floor((screenLines - visibleLines.length) / 2);
  const rows = Array.from({ length: screenLines }, (_, at) => visibleLines[at - topPadding] ?? '');
  const border = paint(colour, '│');
  return [
    margin + paint(colour, `╭${'─'.repeat(cells + 2)}╮`),
    ...rows.map((row) => `${margin}${border} ${paint(colour, centreText(row, cells))} ${border}`),
    margin + paint(colour, `╰${'─'.repeat(cells + 2)}╯`),
  ];
}

function cardSpans({ cards, card }: TerminalView): TextSpan[] {
  return cards.map((name, at) => {
    const letter = String.fromCharCode('a'.charCodeAt(0) + at);
    const isSelected = name === card;
    return {
      text: `${isSelected ? '▸' : ' '}${letter} ${escapeText(name)}`,
      colour: isSelected ? ('bold' as const) : ('dim' as const),
    };
  });
}

/** Adds two columns of cards beside the screen. */
function cardsBesideScreen(view: TerminalView, box: readonly string[], paint: Paint): string[] {
  const spans = cardSpans(view);
  return box.map((line, row) => {
    const cells = [spans[row], spans[row + cardRows]]
      .filter((span) => span !== undefined)
      .map(({ text, colour }) => ({
        text: padToWidth(truncateEnd(text, cardCells), cardCells + 2),
        colour,
      }));
    return `${line}${gap}${paintSpans(cells, paint)}`.trimEnd();
  });
}

function headerLines(view: TerminalView, columns: number, paint: Paint): string[] {
  const { tsn, url, cloud, remarks } = view;
  const isUp = cloud === 'Connected';
  const facts: TextSpan[] = [
    {
      text: truncateEnd(`cloud ${escapeText(cloud)}`, columns - margin.length),
      colour: isUp ? 'green' : 'yellow',
    },
    ...(url === undefined ? [] : [{ text: truncateEnd(url, columns - margin.length) }]),
    ...remarks.map((text) => ({ text, colour: 'red' as const })),
  ];
  const name = truncateEnd(escapeText(tsn), columns - margin.length);
  return [margin + paint('bold', name), ...wrapSpans(facts, columns, paint)];
}

function keyLines({ fault }: TerminalView, columns: number, paint: Paint): string[] {
  const faults = faultKeys.map(([key, name, word]): TextSpan => {
    const isNext = name === fault;
    return { text: `${isNext ? '▸' : ''}${key} ${word}`, colour: isNext ? 'yellow' : 'dim' };
  });
  const parseCommaList = keyWords.map((text): TextSpan => ({ text, colour: 'dim' }));
  return [...wrapSpans(faults, columns, paint), ...wrapSpans(parseCommaList, columns, paint)];
}

function logOrReceiptLines(
  { receipt, log }: TerminalView,
  availableRows: number,
  columns: number,
  paint: Paint,
): string[] {
  const cells = columns - margin.length;
  if (receipt !== undefined) {
    const lines = receipt.length === 0 ? ['No receipt was printed yet.'] : receipt;
    return lines
      .slice(0, availableRows)
      .map((line) => margin + truncateEnd(escapeText(line), cells));
  }
  return log.slice(-availableRows).map(({ text, colour }) => {
    const cut = truncateEnd(escapeText(text), cells);
    return margin + (colour === undefined ? cut : paint(colour, cut));
  });
}

/** The lines of the window; they never exceed its width and height. */
export function layOutScreen(
  view: TerminalView,
  { columns, rows }: WindowSize,
  paint: Paint,
): string[] {
  const box = screenBox(view.screen, columns, paint);
  const head = [...headerLines(view, columns, paint), ''];
  const keys = ['', ...keyLines(view, columns, paint), ''];
  const cardLines = wrapSpans(cardSpans(view), columns, paint);
  const fullLayout =
    columns >= wideLayoutMin
      ? [...head, ...cardsBesideScreen(view, box, paint), ...keys]
      : [...head, ...box, ...cardLines, ...keys];
  // In a small window only the selected card is listed.
  const selectedCard = cardSpans(view).filter(({ colour }) => colour === 'bold');
  const hint: TextSpan = { text: 'a–p card  1–7 fault  P M R V Q', colour: 'dim' };
  const upperLines =
    fullLayout.length + logLinesMin <= rows
      ? fullLayout
      : [...head, ...box, ...wrapSpans([...selectedCard, hint], columns, paint), ''];
  const availableRows = Math.max(0, rows - upperLines.length);
  return [
    ...upperLines,
    ...(availableRows === 0 ? [] : logOrReceiptLines(view, availableRows, columns, paint)),
  ].slice(0, rows);
}
