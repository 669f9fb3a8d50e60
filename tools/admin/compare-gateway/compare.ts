// `switchyard acquirer compare`: compares recorded traffic of a gateway with the messages of the platform.
import { once } from 'node:events';
import { createWriteStream, readFileSync, statSync } from 'node:fs';
import {
  findHostTable,
  type HostTable,
  HostTableError,
  hostTableNames,
  readHostTable,
} from '@switchyard/iso8583';
import type { CommandContext } from '../../../packages/cli/src/command-line/command-runner.ts';
import { describeFileError, fail } from '../../../packages/cli/src/runtime/command-error.ts';
import type { ExitName } from '../../../packages/cli/src/runtime/exit-codes.ts';
import { openNewFile } from '../../../packages/cli/src/session/private-files.ts';
import { type ComparedMessage, createMessageComparer } from './compare-messages.ts';
import { formatSummary } from './format-summary.ts';
import { TraceError, type TraceFault } from './recorded-message.ts';
import { readTrace } from './recorded-messages.ts';
import { createSummary } from './summarize-comparison.ts';

export type CompareOptions = {
  readonly trace: string;
  readonly dialect: string;
  /** Percent. */
  readonly tolerance: number;
  readonly port?: number;
  readonly ignore?: readonly number[];
  readonly out?: string;
};

/** A built-in host table, or one from a file. */
function readTable(name: string): HostTable {
  const builtIn = findHostTable(name);
  if (builtIn !== undefined) return builtIn;
  let text: string;
  try {
    text = readFileSync(name, 'utf8');
  } catch (error) {
    return fail(
      'usage',
      `${name} is not a built-in host table (${hostTableNames.join(', ')}), and cannot be read: ${describeFileError(error)}.`,
    );
  }
  try {
    return readHostTable(JSON.parse(text));
  } catch (error) {
    // The error of the JSON parser repeats the content, which may be a trace by mistake.
    if (error instanceof SyntaxError)
      return fail('usage', `${name} is not a host table: it is not JSON.`);
    if (!(error instanceof HostTableError)) throw error;
    return fail('usage', `${name} is not a host table: ${error.message}.`);
  }
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch (error) {
    return fail('usage', `${file} cannot be read: ${describeFileError(error)}.`);
  }
}

/** Writes each message as one JSON line; waits for a slow disk. */
function openReport(file: string) {
  const stream = createWriteStream(file, { fd: openNewFile(file) });
  return {
    async write(message: ComparedMessage): Promise<void> {
      if (!stream.write(`${JSON.stringify(message)}\n`)) await once(stream, 'drain');
    },
    async close(): Promise<void> {
      stream.end();
      await once(stream, 'finish');
    },
  };
}

const toUnreadable = ({ reason, position }: TraceFault): ComparedMessage => ({
  result: 'Unreadable',
  reason,
  position,
});

/** @returns `differences` if more messages differ than the tolerance allows */
export async function compareGateway(
  { environment, output }: CommandContext,
  _args: string[],
  options: CompareOptions,
): Promise<ExitName | undefined> {
  const { trace: file, tolerance, port, ignore = [] } = options;
  const table = readTable(options.dialect);
  const bytes = sizeOf(file);
  const report = options.out === undefined ? undefined : openReport(options.out);
  const comparer = createMessageComparer(table, ignore, environment.clock.now());
  const summary = createSummary();
  const progress = output.startProgress('Bytes of the trace');
  const faults: TraceFault[] = [];
  const record = async (message: ComparedMessage) => {
    summary.add(message);
    await report?.write(message);
  };
  const recordFaults = async () => {
    for (const fault of faults.splice(0)) await record(toUnreadable(fault));
  };
  const messages = readTrace({
    file,
    framing: comparer.framing,
    port,
    report: (fault) => faults.push(fault),
    onProgress: (read) => progress.step(read, bytes),
  });
  try {
    for await (const message of messages) {
      await recordFaults();
      await record(comparer.compare(message));
    }
    await recordFaults();
  } catch (error) {
    if (error instanceof TraceError) return fail('usage', `${file}: ${error.message}.`);
    throw error;
  } finally {
    progress.end();
    await report?.close();
  }
  const { checked, differing, ...counts } = summary.read();
  if (checked === 0)
    fail(
      'usage',
      `${file} has no messages that can be compared. Check --port and the framing of the host table.`,
    );
  const differingPercent = (differing * 100) / checked;
  const isWithinTolerance = differingPercent <= tolerance;
  const result = {
    trace: file,
    table: table.name,
    checked,
    differing,
    differingPercent,
    tolerancePercent: tolerance,
    isWithinTolerance,
    unanswered: comparer.countUnanswered(),
    ...counts,
  };
  output.printResult(result, () => formatSummary(result, output));
  return isWithinTolerance ? undefined : 'differences';
}
