/** What the window of a simulated terminal looks like: lines that fit, whatever the size of the window. */
import type { TerminalFault, TerminalScreen } from '@switchyard/simulators';
import type { Colour, Paint } from '../../output/colours.ts';
import { cutTo, visible, widthOf } from '../../output/escape-text.ts';
import { padded } from '../../output/line-layout.ts';

export type LogLine = { readonly text: string; readonly colour?: Colour };

/** All that is shown. */
export type Shown = {
  readonly tsn: string;
  readonly url?: string | undefined;
  readonly cloud: string;
  readonly screen: TerminalScreen;
  readonly cards: readonly string[];
  readonly card: string;
  /** Of the next payment. */
  readonly fault?: TerminalFault | undefined;
  /** Such as that there is no paper. */
  readonly remarks: readonly string[];
  readonly log: readonly LogLine[];
  /** The receipt, where it is looked at instead of the log. */
  readonly receipt?: readonly string[] | undefined;
};

export type Size = { readonly columns: number; readonly rows: number };

/** The key of each fault, and the word for it. */
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
const boxMost = 30;
/** Border and the space beside it, both sides. */
const boxFrame = 4;
const screenLines = 6;
const cardCells = 17;
const cardRows = 8;
const gap = '   ';
/** From here on the cards have room beside the screen. */
const wideFrom = margin.length * 2 + boxMost + boxFrame + gap.length + 2 * (cardCells + 2);
const logLeast = 4;

const colours: Readonly<Record<TerminalScreen['state'], Colour>> = {
  Idle: 'dim',
  Card: 'cyan',
  Pin: 'cyan',
  Asking: 'yellow',
  Approved: 'green',
  Declined: 'red',
  Message: 'bold',
  OutOfService: 'red',
};

/** One piece of a line: what it says, and how. */
type Piece = { readonly text: string; readonly colour?: Colour | undefined };

function painted(pieces: readonly Piece[], paint: Paint): string {
  return pieces
    .map(({ text, colour }) => (colour === undefined ? text : paint(colour, text)))
    .join('');
}

/** Pieces side by side, in as many lines as they need. */
function flowed(pieces: readonly Piece[], columns: number, paint: Paint): string[] {
  const lines: Piece[][] = [];
  let used = 0;
  for (const piece of pieces) {
    const cells = widthOf(piece.text) + margin.length;
    if (lines.length === 0 || used + cells > columns) {
      lines.push([]);
      used = 0;
    }
    lines.at(-1)?.push({ text: margin }, piece);
    used += cells;
  }
  return lines.map((line) => painted(line, paint));
}

function centred(text: string, cells: number): string {
  const cut = cutTo(visible(text), cells);
  const left = Math.floor((cells - widthOf(cut)) / 2);
  return padded(' '.repeat(left) + cut, cells);
}

/** The screen of the terminal, with its border. */
function boxOf({ state, lines }: TerminalScreen, columns: number, paint: Paint): string[] {
  const cells = Math.max(1, Math.min(boxMost, columns - boxFrame - margin.length));
  const colour = colours[state];
  const inner = lines.slice(0, screenLines);
  const above = Math.floor((screenLines - inner.length) / 2);
  const rows = Array.from({ length: screenLines }, (_, at) => inner[at - above] ?? '');
  const side = paint(colour, '│');
  return [
    margin + paint(colour, `╭${'─'.repeat(cells + 2)}╮`),
    ...rows.map((row) => `${margin}${side} ${paint(colour, centred(row, cells))} ${side}`),
    margin + paint(colour, `╰${'─'.repeat(cells + 2)}╯`),
  ];
}

function cardPieces({ cards, card }: Shown): Piece[] {
  return cards.map((name, at) => {
    const letter = String.fromCharCode('a'.charCodeAt(0) + at);
    const isShown = name === card;
    return {
      text: `${isShown ? '▸' : ' '}${letter} ${visible(name)}`,
      colour: isShown ? ('bold' as const) : ('dim' as const),
    };
  });
}

/** Beside the screen: two columns of cards. */
function besideOf(shown: Shown, box: readonly string[], paint: Paint): string[] {
  const pieces = cardPieces(shown);
  return box.map((line, row) => {
    const cells = [pieces[row], pieces[row + cardRows]]
      .filter((piece) => piece !== undefined)
      .map(({ text, colour }) => ({ text: padded(cutTo(text, cardCells), cardCells + 2), colour }));
    return `${line}${gap}${painted(cells, paint)}`.trimEnd();
  });
}

function headOf(shown: Shown, columns: number, paint: Paint): string[] {
  const { tsn, url, cloud, remarks } = shown;
  const isUp = cloud === 'Connected';
  const facts: Piece[] = [
    {
      text: cutTo(`cloud ${visible(cloud)}`, columns - margin.length),
      colour: isUp ? 'green' : 'yellow',
    },
    ...(url === undefined ? [] : [{ text: cutTo(url, columns - margin.length) }]),
    ...remarks.map((text) => ({ text, colour: 'red' as const })),
  ];
  const name = cutTo(visible(tsn), columns - margin.length);
  return [margin + paint('bold', name), ...flowed(facts, columns, paint)];
}

function keysOf({ fault }: Shown, columns: number, paint: Paint): string[] {
  const faults = faultKeys.map(([key, name, word]): Piece => {
    const isNext = name === fault;
    return { text: `${isNext ? '▸' : ''}${key} ${word}`, colour: isNext ? 'yellow' : 'dim' };
  });
  const words = keyWords.map((text): Piece => ({ text, colour: 'dim' }));
  return [...flowed(faults, columns, paint), ...flowed(words, columns, paint)];
}

function endOf({ receipt, log }: Shown, room: number, columns: number, paint: Paint): string[] {
  const cells = columns - margin.length;
  if (receipt !== undefined) {
    const lines = receipt.length === 0 ? ['Nothing was printed yet.'] : receipt;
    return lines.slice(0, room).map((line) => margin + cutTo(visible(line), cells));
  }
  return log.slice(-room).map(({ text, colour }) => {
    const cut = cutTo(visible(text), cells);
    return margin + (colour === undefined ? cut : paint(colour, cut));
  });
}

/** Lines that are not longer than the window, and no more of them than it has. */
export function pictureOf(shown: Shown, { columns, rows }: Size, paint: Paint): string[] {
  const box = boxOf(shown.screen, columns, paint);
  const head = [...headOf(shown, columns, paint), ''];
  const keys = ['', ...keysOf(shown, columns, paint), ''];
  const listed = flowed(cardPieces(shown), columns, paint);
  const all =
    columns >= wideFrom
      ? [...head, ...besideOf(shown, box, paint), ...keys]
      : [...head, ...box, ...listed, ...keys];
  // Where not all of it fits, the card that is shown says enough.
  const chosen = cardPieces(shown).filter(({ colour }) => colour === 'bold');
  const hint: Piece = { text: 'a–p card  1–7 fault  P M R V Q', colour: 'dim' };
  const top =
    all.length + logLeast <= rows
      ? all
      : [...head, ...box, ...flowed([...chosen, hint], columns, paint), ''];
  const room = Math.max(0, rows - top.length);
  return [...top, ...(room === 0 ? [] : endOf(shown, room, columns, paint))].slice(0, rows);
}
