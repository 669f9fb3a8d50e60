/** The simulated terminal in the window of a terminal: its screen, its paper, and what goes to and fro. */
import { defined } from '@switchyard/contract';
import type { TerminalEvent, TerminalFault, TerminalScreen } from '@switchyard/simulators';
import type { Kit } from '../kit.ts';
import { visible } from './escape.ts';
import type { Colour } from './paint.ts';
import { type LogLine, pictureOf } from './terminal-picture.ts';

export type TerminalWindow = {
  /** Whether it is redrawn in place; else there is a line for each happening. */
  readonly isDrawn: boolean;
  tell(happening: TerminalEvent): void;
  cloud(state: string, error?: string): void;
  card(name: string): void;
  /** Of the next payment. */
  fault(name: TerminalFault): void;
  /** Something that is so until it is said otherwise, such as that there is no paper. */
  remark(text: string, isSo: boolean): void;
  /** The receipt that was printed last instead of what goes to and fro, and back. */
  turnReceipt(): void;
  note(text: string): void;
  open(facts: { tsn: string; url?: string; certFile?: string }): void;
  close(): void;
};

const logLines = 100;
const usualSize = { columns: 80, rows: 24 };
const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearToEnd = '\u001b[K';
const clearBelow = '\u001b[J';

/** One line for people, of what is worth one. */
export function lineOf(happening: TerminalEvent): string | undefined {
  switch (happening.type) {
    case 'Screen':
      return undefined;
    case 'Printed':
      return `prints ${happening.lines.length} lines`;
    case 'Sound':
      return 'beeps';
    case 'Ignored':
      return `ignored: ${happening.reason}`;
    case 'Fault':
      return `fault: ${happening.fault}`;
    case 'Payment': {
      const { state, transactionId } = happening;
      return `${state} ${transactionId}`;
    }
    case 'Received':
    case 'Sent': {
      const { type, category, kind, saleId, serviceId = '', condition, result, event } = happening;
      const arrow = type === 'Received' ? '→' : '←';
      const outcome = condition ?? result ?? event ?? '';
      return `${arrow} ${category} ${kind} ${saleId} ${serviceId} ${outcome}`.trimEnd();
    }
  }
}

function colourOf(happening: TerminalEvent): Colour | undefined {
  if (happening.type === 'Fault' || happening.type === 'Ignored') return 'yellow';
  if (happening.type === 'Received') return 'cyan';
  if (happening.type !== 'Sent' || happening.result === undefined) return undefined;
  return happening.result === 'Failure' ? 'red' : 'green';
}

const isSale = (happening: TerminalEvent): boolean =>
  happening.type === 'Received' && happening.category === 'Payment';

/** What the till is shown stands on the screen already: of each step it would be two lines. */
const isMirrored = (happening: TerminalEvent): boolean =>
  (happening.type === 'Sent' || happening.type === 'Received') && happening.category === 'Display';

type Start = { readonly tsn: string; readonly cards: readonly string[]; readonly card: string };

/** @example const window = createTerminalWindow(kit, { tsn, cards, card: 'visa' }); */
export function createTerminalWindow({ world, screen }: Kit, start: Start): TerminalWindow {
  const { stdout, clock } = world;
  const isDrawn = !screen.json && stdout.isTTY === true;
  const log: LogLine[] = [];
  const remarks = new Set<string>();
  let shown: TerminalScreen = { state: 'Idle', lines: ['Welcome'] };
  let cloud = 'Stopped';
  let { card } = start;
  let nextFault: TerminalFault | undefined;
  let receipt: readonly string[] = [];
  let isReceiptShown = false;
  let url: string | undefined;
  let isOpen = false;

  function draw(): void {
    if (!isDrawn || !isOpen) return;
    const { columns = usualSize.columns, rows = usualSize.rows } = stdout;
    const { tsn, cards } = start;
    const all = { tsn, url, cloud, screen: shown, cards, card, fault: nextFault, log };
    const lines = pictureOf(
      { ...all, remarks: [...remarks], receipt: isReceiptShown ? receipt : undefined },
      { columns, rows },
      screen.paint,
    );
    // Written over what stands there: a window that is cleared first flickers.
    const text = lines.map((line) => line + clearToEnd).join('\r\n');
    stdout.write(`${home}${text}${clearBelow}`);
  }

  function say(text: string, colour?: Colour): void {
    if (screen.json) return;
    const at = new Date(clock.now()).toISOString().slice(11, 19);
    if (!isDrawn) {
      screen.text(`${at} ${visible(text)}\n`);
      return;
    }
    log.push({ text: `${at} ${text}`, ...defined({ colour }) });
    if (log.length > logLines) log.shift();
    draw();
  }

  const tellJson = (value: object) =>
    void screen.line({ at: new Date(clock.now()).toISOString(), ...value }).catch(() => undefined);

  /** Where there is no window, what is shown and printed are lines as everything else. */
  function tellInLines(happening: TerminalEvent): void {
    if (happening.type === 'Screen') say(`shows: ${happening.screen.lines.join(' · ')}`);
    if (happening.type !== 'Printed') return;
    for (const printed of happening.lines) screen.text(`  | ${visible(printed)}\n`);
  }

  return {
    isDrawn,
    note: say,
    tell(happening) {
      if (screen.json) return tellJson(happening);
      if (happening.type === 'Screen') shown = happening.screen;
      if (happening.type === 'Printed') receipt = happening.lines;
      if (isSale(happening)) nextFault = undefined;
      const line = isDrawn && isMirrored(happening) ? undefined : lineOf(happening);
      if (line !== undefined) say(line, colourOf(happening));
      else draw();
      if (!isDrawn) tellInLines(happening);
    },
    cloud(state, error) {
      cloud = error === undefined ? state : `${state} (${error})`;
      if (screen.json) {
        tellJson({ type: 'Cloud', state, ...defined({ error }) });
      } else say(`cloud: ${cloud}`);
    },
    card(name) {
      card = name;
      draw();
    },
    fault(name) {
      nextFault = name;
      draw();
    },
    remark(text, isSo) {
      if (isSo) remarks.add(text);
      else remarks.delete(text);
      draw();
    },
    turnReceipt() {
      isReceiptShown = !isReceiptShown;
      draw();
    },
    open(facts) {
      isOpen = true;
      ({ url } = facts);
      const { tsn, certFile } = facts;
      if (isDrawn) {
        stdout.write(enter);
        stdout.on?.('resize', draw);
        draw();
      } else if (screen.json) {
        tellJson({
          type: 'Started',
          tsn,
          ...defined({ url, certFile: url === undefined ? undefined : certFile }),
        });
      } else say(`${tsn} ${url === undefined ? 'runs' : `listens at ${url}, trust ${certFile}`}`);
    },
    close() {
      if (isDrawn && isOpen) {
        stdout.off?.('resize', draw);
        stdout.write(leave);
      }
      isOpen = false;
      if (screen.json) tellJson({ type: 'Stopped' });
    },
  };
}
