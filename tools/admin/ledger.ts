// `switchyard admin ledger`: prints the ledger of the demo's acquirer simulator.

import { join, resolve } from 'node:path';
import { readDataDirectory } from '@switchyard/contract';
import type { CommandContext } from '../../packages/cli/src/command-line/command-runner.ts';
import type { ExitName } from '../../packages/cli/src/runtime/exit-codes.ts';
import { formatLedger } from '../../packages/simulators/src/acquirer-host/ledger/format-ledger.ts';
import { readLedger } from '../../packages/simulators/src/acquirer-host/ledger/read-ledger.ts';

export async function printLedger(
  { environment, output }: CommandContext,
  _args: string[],
  { last }: { readonly last: number },
): Promise<ExitName | undefined> {
  const dataDir = resolve(readDataDirectory(environment.env));
  const report = readLedger(join(dataDir, 'acquirer'));
  output.printResult(report, () => formatLedger(report, last));
  return report.faults.length > 0 ? 'fault' : undefined;
}
