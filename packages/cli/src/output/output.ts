/** Output of the command: results on stdout, notes, progress and errors on stderr. */

import { CommandError } from '../runtime/command-error.ts';
import { exitCodes } from '../runtime/exit-codes.ts';
import type { RuntimeEnvironment } from '../runtime/runtime-environment.ts';
import { createPaint, type Paint } from './colours.ts';
import { escapedJson, escapeText } from './escape-text.ts';
import { createProgress, type Progress } from './progress-line.ts';
import { type Column, formatMembers, formatTable } from './table.ts';

export type Output = {
  readonly json: boolean;
  readonly paint: Paint;
  /** Cells of the terminal; undefined if stdout is not a terminal. */
  readonly width: number | undefined;
  /** Prints text without change: the caller escapes untrusted values. */
  printText(text: string): void;
  /** Prints the JSON document of the command. */
  printJson(value: unknown): void;
  /** Prints one line of JSON Lines; waits for a slow reader. */
  printJsonLine(value: unknown): Promise<void>;
  /** Prints one line without change; waits for a slow reader. */
  printLine(text: string): Promise<void>;
  writeBytes(bytes: Uint8Array): Promise<void>;
  /** Prints `value` with --json, otherwise `text`. */
  printResult(value: unknown, text: () => string): void;
  formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string;
  formatMembers(resource: Readonly<Record<string, unknown>>): string;
  /** Removes the `^C` that a terminal shows. */
  clearLine(): void;
  /** Prints a note on stderr, except with --quiet. */
  printNote(text: string): void;
  startProgress(label: string): Progress;
  printError(error: unknown): number;
};

export type OutputOptions = {
  readonly json: boolean;
  readonly color: boolean;
  readonly quiet: boolean;
};

const indent = 2;

function errorToJson(fault: CommandError): Record<string, unknown> {
  return { exitCode: fault.exitCode, message: fault.message, more: fault.more, ...fault.facts };
}

/** Other errors are bugs of the command; SWITCHYARD_CLI_TRACE=1 prints their stack. */
function toCommandError(error: unknown, isTraced: boolean): CommandError {
  if (error instanceof CommandError) return error;
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const trace = isTraced ? (stack ?? '').split('\n').slice(1) : [];
  const hint = isTraced ? trace : ['Set SWITCHYARD_CLI_TRACE=1 to print the stack trace.'];
  return new CommandError('fault', `Internal error of the command: ${message}`, { more: hint });
}

/** @example const screen = createOutput(environment, { json: false, color: true, quiet: false }); */
export function createOutput(environment: RuntimeEnvironment, options: OutputOptions): Output {
  const { stdout, stderr, env, clock } = environment;
  const hasColour = (stream: { isTTY?: boolean }) =>
    options.color && !env['NO_COLOR'] && env['TERM'] !== 'dumb' && stream.isTTY === true;
  const paint = createPaint(hasColour(stdout));
  const paintNote = createPaint(hasColour(stderr));
  const terminalWidth = stdout.isTTY ? (stdout.columns ?? undefined) : undefined;
  const put = (text: string | Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      stdout.write(text, (error) => (error ? reject(error) : resolve()));
    });
  return {
    json: options.json,
    paint,
    printText: (text) => void stdout.write(text),
    printJson: (value) => void stdout.write(`${escapedJson(value, indent)}\n`),
    width: terminalWidth,
    printLine: (text) => put(`${text}\n`),
    printJsonLine: (value) => put(`${escapedJson(value)}\n`),
    writeBytes: put,
    printResult(value, text) {
      stdout.write(options.json ? `${escapedJson(value, indent)}\n` : text());
    },
    formatTable: (columns, rows) => formatTable(columns, rows, paint, terminalWidth),
    formatMembers: (resource) => formatMembers(resource, paint),
    clearLine() {
      if (stderr.isTTY === true) stderr.write('\r\u001b[2K');
    },
    printNote(text) {
      if (!options.quiet) stderr.write(`${text}\n`);
    },
    startProgress(label) {
      if (options.quiet) return { step: () => undefined, end: () => undefined };
      return createProgress(stderr, clock, label);
    },
    printError(error) {
      const fault = toCommandError(error, env['SWITCHYARD_CLI_TRACE'] === '1');
      if (options.json) stderr.write(`${escapedJson({ error: errorToJson(fault) }, indent)}\n`);
      else {
        const lines = fault.more.map((line) => `  ${escapeText(line)}`);
        const head = `${paintNote('red', 'error:')} ${escapeText(fault.message)}`;
        stderr.write(`${[head, ...lines].join('\n')}\n`);
      }
      return exitCodes[fault.exit];
    },
  };
}
