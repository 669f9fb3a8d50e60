/** All that the command says: results on stdout, everything else on stderr. */

import { CommandFault } from '../runtime/command-error.ts';
import { exitCodes } from '../runtime/exit-codes.ts';
import type { World } from '../runtime/runtime-environment.ts';
import { createPaint, type Paint } from './colours.ts';
import { jsonText, visible } from './escape-text.ts';
import { createProgress, type Progress } from './progress-line.ts';
import { type Column, membersText, tableText } from './table.ts';

export type Screen = {
  readonly json: boolean;
  readonly paint: Paint;
  /** Cells of the terminal; undefined where nobody sits there. */
  readonly width: number | undefined;
  /** Text for people, as it is: whoever calls has made values from outside visible. */
  text(text: string): void;
  /** The one JSON document of the command. */
  document(value: unknown): void;
  /** One line of JSON Lines; waits where the reader is slow. */
  line(value: unknown): Promise<void>;
  /** One line for people, as it is; waits where the reader is slow. */
  row(text: string): Promise<void>;
  bytes(bytes: Uint8Array): Promise<void>;
  /** The same facts as a document, or as text for people. */
  result(value: unknown, text: () => string): void;
  table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string;
  members(thing: Readonly<Record<string, unknown>>): string;
  /** Removes what a terminal shows of Ctrl+C. */
  clearLine(): void;
  /** A remark on stderr. */
  note(text: string): void;
  progress(label: string): Progress;
  fault(error: unknown): number;
};

export type ScreenOptions = {
  readonly json: boolean;
  readonly color: boolean;
  readonly quiet: boolean;
};

const indent = 2;

function faultFacts(fault: CommandFault): Record<string, unknown> {
  return { exitCode: fault.exitCode, message: fault.message, more: fault.more, ...fault.facts };
}

/** What is no CommandFault is a fault of ours; its stack is told only where somebody asks for it. */
function asFault(error: unknown, isTraced: boolean): CommandFault {
  if (error instanceof CommandFault) return error;
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const trace = isTraced ? (stack ?? '').split('\n').slice(1) : [];
  const hint = isTraced ? trace : ['SWITCHYARD_CLI_TRACE=1 shows where it happened.'];
  return new CommandFault('fault', `A fault of the command: ${message}`, { more: hint });
}

/** @example const screen = createScreen(world, { json: false, color: true, quiet: false }); */
export function createScreen(world: World, options: ScreenOptions): Screen {
  const { stdout, stderr, env, clock } = world;
  const hasColour = (stream: { isTTY?: boolean }) =>
    options.color && !env['NO_COLOR'] && env['TERM'] !== 'dumb' && stream.isTTY === true;
  const paint = createPaint(hasColour(stdout));
  const paintNote = createPaint(hasColour(stderr));
  const room = stdout.isTTY ? (stdout.columns ?? undefined) : undefined;
  const put = (text: string | Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      stdout.write(text, (error) => (error ? reject(error) : resolve()));
    });
  return {
    json: options.json,
    paint,
    text: (text) => void stdout.write(text),
    document: (value) => void stdout.write(`${jsonText(value, indent)}\n`),
    width: room,
    row: (text) => put(`${text}\n`),
    line: (value) => put(`${jsonText(value)}\n`),
    bytes: put,
    result(value, text) {
      stdout.write(options.json ? `${jsonText(value, indent)}\n` : text());
    },
    table: (columns, rows) => tableText(columns, rows, paint, room),
    members: (thing) => membersText(thing, paint),
    clearLine() {
      if (stderr.isTTY === true) stderr.write('\r\u001b[2K');
    },
    note(text) {
      if (!options.quiet) stderr.write(`${text}\n`);
    },
    progress(label) {
      if (options.quiet) return { step: () => undefined, end: () => undefined };
      return createProgress(stderr, clock, label);
    },
    fault(error) {
      const fault = asFault(error, env['SWITCHYARD_CLI_TRACE'] === '1');
      if (options.json) stderr.write(`${jsonText({ error: faultFacts(fault) }, indent)}\n`);
      else {
        const lines = fault.more.map((line) => `  ${visible(line)}`);
        const head = `${paintNote('red', 'error:')} ${visible(fault.message)}`;
        stderr.write(`${[head, ...lines].join('\n')}\n`);
      }
      return exitCodes[fault.exit];
    },
  };
}
