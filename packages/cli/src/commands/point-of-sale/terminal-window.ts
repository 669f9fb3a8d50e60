/** Shows the simulated terminal: screen, receipt, and messages that it receives and sends. */
import { defined } from '@switchyard/contract';
import type { ScreenContent, TerminalEvent, TerminalFault } from '@switchyard/simulators';
import type { CommandContext } from '../../command-line/command-runner.ts';
import type { Colour } from '../../output/colours.ts';
import { escapeText } from '../../output/escape-text.ts';
import { type LogLine, layOutScreen } from './terminal-screen-layout.ts';

export type SimulatedTerminalWindow = {
  /** Whether the window is redrawn in place; otherwise each event is a line. */
  readonly isDrawn: boolean;
  onEvent(terminalEvent: TerminalEvent): void;
  cloud(state: string, error?: string): void;
  /** A person enters it at the platform, so that the terminal becomes Claimed. */
  claimCode(claimCode: string): void;
  card(name: string): void;
  /** The fault of the next payment. */
  fault(name: TerminalFault): void;
  /** Shows or hides a condition, such as “no paper”. */
  remark(text: string, isActive: boolean): void;
  /** Switches between the last receipt and the log. */
  toggleReceipt(): void;
  note(text: string): void;
  open(facts: { tsn: string; url?: string; certFile?: string }): void;
  close(): void;
};

const logLines = 100;
const defaultSize = { columns: 80, rows: 24 };
const enterAlternateScreen = '\u001b[?1049h\u001b[?25l';
const leaveAlternateScreen = '\u001b[?25h\u001b[?1049l';
const cursorHome = '\u001b[H';
const clearToEnd = '\u001b[K';
const clearBelow = '\u001b[J';

/** The log line of an event; undefined for events without one. */
export function formatEvent(terminalEvent: TerminalEvent): string | undefined {
  switch (terminalEvent.type) {
    case 'Screen':
      return undefined;
    case 'Printed':
      return `prints ${terminalEvent.lines.length} lines`;
    case 'Sound':
      return 'beeps';
    case 'Ignored':
      return `ignored: ${terminalEvent.reason}`;
    case 'Fault':
      return `fault: ${terminalEvent.fault}`;
    case 'Payment': {
      const { state, transactionId } = terminalEvent;
      return `${state} ${transactionId}`;
    }
    case 'Received':
    case 'Sent': {
      const {
        type,
        category,
        kind,
        saleId,
        serviceId = '',
        condition,
        result,
        event,
      } = terminalEvent;
      const arrow = type === 'Received' ? '→' : '←';
      const outcome = condition ?? result ?? event ?? '';
      return `${arrow} ${category} ${kind} ${saleId} ${serviceId} ${outcome}`.trimEnd();
    }
  }
}

function eventColour(terminalEvent: TerminalEvent): Colour | undefined {
  if (terminalEvent.type === 'Fault' || terminalEvent.type === 'Ignored') return 'yellow';
  if (terminalEvent.type === 'Received') return 'cyan';
  if (terminalEvent.type !== 'Sent' || terminalEvent.result === undefined) return undefined;
  return terminalEvent.result === 'Failure' ? 'red' : 'green';
}

const isPaymentRequest = (terminalEvent: TerminalEvent): boolean =>
  terminalEvent.type === 'Received' && terminalEvent.category === 'Payment';

/** Display messages repeat what the screen shows, so the log leaves them out. */
const isDisplayMessage = (terminalEvent: TerminalEvent): boolean =>
  (terminalEvent.type === 'Sent' || terminalEvent.type === 'Received') &&
  terminalEvent.category === 'Display';

type InitialState = {
  readonly tsn: string;
  readonly cards: readonly string[];
  readonly card: string;
};

/** @example const window = createTerminalWindow(kit, { tsn, cards, card: 'visa' }); */
export function createTerminalWindow(
  { environment, output }: CommandContext,
  initial: InitialState,
): SimulatedTerminalWindow {
  const { stdout, clock } = environment;
  const isDrawn = !output.json && stdout.isTTY === true;
  const log: LogLine[] = [];
  const remarks = new Set<string>();
  let terminalScreen: ScreenContent = { state: 'Idle', lines: ['Welcome'] };
  let cloud = 'Stopped';
  let claimCode: string | undefined;
  let isUnclaimed = false;
  let { card } = initial;
  let nextFault: TerminalFault | undefined;
  let receipt: readonly string[] = [];
  let isReceiptVisible = false;
  let url: string | undefined;
  let isOpen = false;

  function draw(): void {
    if (!isDrawn || !isOpen) return;
    const { columns = defaultSize.columns, rows = defaultSize.rows } = stdout;
    const { tsn, cards } = initial;
    const current = { tsn, url, cloud, screen: terminalScreen, cards, card, fault: nextFault, log };
    const codes = isUnclaimed && claimCode !== undefined ? [`claim code ${claimCode}`] : [];
    const lines = layOutScreen(
      {
        ...current,
        remarks: [...codes, ...remarks],
        receipt: isReceiptVisible ? receipt : undefined,
      },
      { columns, rows },
      output.paint,
    );
    // Overwrites the old lines: clearing the window first would flicker.
    const text = lines.map((line) => line + clearToEnd).join('\r\n');
    stdout.write(`${cursorHome}${text}${clearBelow}`);
  }

  function writeLine(text: string, colour?: Colour): void {
    if (output.json) return;
    const at = new Date(clock.now()).toISOString().slice(11, 19);
    if (!isDrawn) {
      output.printText(`${at} ${escapeText(text)}\n`);
      return;
    }
    log.push({ text: `${at} ${text}`, ...defined({ colour }) });
    if (log.length > logLines) log.shift();
    draw();
  }

  const writeJson = (value: object) =>
    void output
      .printJsonLine({ at: new Date(clock.now()).toISOString(), ...value })
      .catch(() => undefined);

  /** Without a window, screens and receipts are lines too. */
  function writeEventLines(terminalEvent: TerminalEvent): void {
    if (terminalEvent.type === 'Screen')
      writeLine(`shows: ${terminalEvent.screen.lines.join(' · ')}`);
    if (terminalEvent.type !== 'Printed') return;
    for (const printed of terminalEvent.lines) output.printText(`  | ${escapeText(printed)}\n`);
  }

  return {
    isDrawn,
    note: writeLine,
    onEvent(terminalEvent) {
      if (output.json) return writeJson(terminalEvent);
      if (terminalEvent.type === 'Screen') terminalScreen = terminalEvent.screen;
      if (terminalEvent.type === 'Printed') receipt = terminalEvent.lines;
      if (isPaymentRequest(terminalEvent)) nextFault = undefined;
      const line =
        isDrawn && isDisplayMessage(terminalEvent) ? undefined : formatEvent(terminalEvent);
      if (line !== undefined) writeLine(line, eventColour(terminalEvent));
      else draw();
      if (!isDrawn) writeEventLines(terminalEvent);
    },
    cloud(state, error) {
      cloud = error === undefined ? state : `${state} (${error})`;
      if (error === 'device_not_claimed') isUnclaimed = true;
      if (state === 'Connected') isUnclaimed = false;
      if (output.json) {
        writeJson({ type: 'Cloud', state, ...defined({ error }) });
      } else writeLine(`cloud: ${cloud}`);
    },
    claimCode(code) {
      claimCode = code;
      if (output.json) writeJson({ type: 'ClaimCode', claimCode: code });
      else writeLine(`claim code: ${code}`);
    },
    card(name) {
      card = name;
      draw();
    },
    fault(name) {
      nextFault = name;
      draw();
    },
    remark(text, isActive) {
      if (isActive) remarks.add(text);
      else remarks.delete(text);
      draw();
    },
    toggleReceipt() {
      isReceiptVisible = !isReceiptVisible;
      draw();
    },
    open(facts) {
      isOpen = true;
      ({ url } = facts);
      const { tsn, certFile } = facts;
      if (isDrawn) {
        stdout.write(enterAlternateScreen);
        stdout.on?.('resize', draw);
        draw();
      } else if (output.json) {
        writeJson({
          type: 'Started',
          tsn,
          ...defined({ url, certFile: url === undefined ? undefined : certFile }),
        });
      } else
        writeLine(`${tsn} ${url === undefined ? 'runs' : `listens at ${url}, trust ${certFile}`}`);
    },
    close() {
      if (isDrawn && isOpen) {
        stdout.off?.('resize', draw);
        stdout.write(leaveAlternateScreen);
      }
      isOpen = false;
      if (output.json) writeJson({ type: 'Stopped' });
    },
  };
}
