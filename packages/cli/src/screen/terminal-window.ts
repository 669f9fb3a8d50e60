/** The simulated terminal in the window of a terminal: its screen, its paper, and what goes to and fro. */
import type { TerminalHappening, TerminalScreen } from '@switchyard/simulators';
import type { Kit } from '../kit.ts';
import { cutTo, visible, widthOf } from './escape.ts';
import type { Colour } from './paint.ts';

export type TerminalWindow = {
  /** Whether it is redrawn in place; else there is a line for each happening. */
  readonly isDrawn: boolean;
  tell(happening: TerminalHappening): void;
  cloud(state: string, error?: string): void;
  card(name: string): void;
  note(text: string): void;
  open(facts: { tsn: string; url?: string; certFile?: string }): void;
  close(): void;
};

const boxCells = 36;
const screenLines = 6;
const logLines = 14;
const clear = '\u001b[H\u001b[2J';
const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';

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

/** One line for people, of what is worth one. */
export function lineOf(happening: TerminalHappening): string | undefined {
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

function centred(text: string): string {
  const cut = cutTo(visible(text), boxCells);
  const left = Math.floor((boxCells - widthOf(cut)) / 2);
  return ' '.repeat(left) + cut + ' '.repeat(boxCells - widthOf(cut) - left);
}

/** @example const window = createTerminalWindow(kit, { tsn, cards, card: 'visa' }); */
export function createTerminalWindow(
  { world, screen }: Kit,
  start: { readonly tsn: string; readonly cards: readonly string[]; readonly card: string },
): TerminalWindow {
  const { stdout, clock } = world;
  const { paint } = screen;
  const isDrawn = !screen.json && stdout.isTTY === true;
  const log: string[] = [];
  let shown: TerminalScreen = { state: 'Idle', lines: ['Welcome'] };
  let cloud = 'Stopped';
  let { card } = start;
  let address = '';
  let isOpen = false;

  function box(): string[] {
    const inner = [...shown.lines.slice(0, screenLines - 1)];
    const above = Math.floor((screenLines - inner.length) / 2);
    const lines = [...Array.from({ length: above }, () => ''), ...inner];
    const all = Array.from({ length: screenLines }, (_, at) => lines[at] ?? '');
    const colour = colours[shown.state];
    return [
      `  ╭${'─'.repeat(boxCells + 2)}╮`,
      ...all.map((line) => `  │ ${paint(colour, centred(line))} │`),
      `  ╰${'─'.repeat(boxCells + 2)}╯`,
    ];
  }

  function draw(): void {
    if (!isDrawn || !isOpen) return;
    const width = screen.width ?? 80;
    const letters = start.cards.map(
      (name, at) => `${String.fromCharCode('a'.charCodeAt(0) + at)} ${name}`,
    );
    const rows: string[] = [];
    for (const letter of letters) {
      const last = rows.at(-1);
      if (last !== undefined && widthOf(`${last}   ${letter}`) < width - 2) {
        rows[rows.length - 1] = `${last}   ${letter}`;
      } else rows.push(`  ${letter}`);
    }
    const lines = [
      `  ${paint('bold', start.tsn)}   cloud ${cloud}   ${address}`,
      ...box(),
      `  card ${paint('bold', card)}`,
      '',
      ...rows.map((row) => paint('dim', row)),
      paint('dim', '  1-7 a fault next   P paper   M maintenance   R start anew   Q quit'),
      '',
      ...log.slice(-logLines).map((line) => cutTo(`  ${line}`, width - 1)),
    ];
    stdout.write(`${clear}${lines.join('\r\n')}\r\n`);
  }

  function note(text: string): void {
    const at = new Date(clock.now()).toISOString().slice(11, 19);
    if (screen.json) return;
    if (isDrawn) {
      log.push(`${at} ${visible(text)}`);
      if (log.length > logLines) log.shift();
      draw();
    } else screen.text(`${at} ${visible(text)}\n`);
  }

  const tellJson = (value: object) =>
    void screen.line({ at: new Date(clock.now()).toISOString(), ...value }).catch(() => undefined);

  return {
    ...{ isDrawn, note },
    tell(happening) {
      if (screen.json) return tellJson(happening);
      if (happening.type === 'Screen') shown = happening.screen;
      const line = lineOf(happening);
      if (line !== undefined) note(line);
      else if (isDrawn) draw();
      else if (happening.type === 'Screen') note(`shows: ${happening.screen.lines.join(' · ')}`);
      if (happening.type === 'Printed' && !isDrawn) {
        for (const printed of happening.lines) screen.text(`  | ${visible(printed)}\n`);
      }
    },
    cloud(state, error) {
      cloud = error === undefined ? state : `${state} (${error})`;
      if (screen.json)
        tellJson({ type: 'Cloud', state, ...(error === undefined ? {} : { error }) });
      else note(`cloud: ${cloud}`);
    },
    card(name) {
      card = name;
      draw();
    },
    open({ tsn, url, certFile }) {
      isOpen = true;
      address = url ?? '';
      if (isDrawn) {
        stdout.write(enter);
        draw();
      } else if (screen.json) {
        tellJson({ type: 'Started', tsn, ...(url === undefined ? {} : { url, certFile }) });
      } else note(`${tsn} ${url === undefined ? 'runs' : `listens at ${url}, trust ${certFile}`}`);
    },
    close() {
      if (isDrawn && isOpen) stdout.write(leave);
      isOpen = false;
      if (screen.json) tellJson({ type: 'Stopped' });
    },
  };
}
