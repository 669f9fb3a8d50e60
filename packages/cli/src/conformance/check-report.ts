/** Runs conformance checks and formats their results. */
import { defined } from '@switchyard/contract';
import type { CommandContext } from '../command-line/command-runner.ts';
import { CommandError } from '../runtime/command-error.ts';
import { NonconformityError } from './nonconformity-error.ts';

export type CheckName = {
  readonly group: string;
  readonly name: string;
  /** The code of the fault if the check fails. */
  readonly fault?: string;
};

export type CheckResult = {
  readonly group: string;
  readonly check: string;
  readonly fault?: string;
  readonly ok: boolean;
  readonly ms: number;
  readonly detail?: string;
};

/** Returns a failed check for an error of the server; throws other errors. */
export async function runCheck(
  context: CommandContext,
  { group, name, fault }: CheckName,
  run: () => Promise<void>,
): Promise<CheckResult> {
  const began = context.environment.clock.now();
  const toResult = (ok: boolean, detail?: string): CheckResult => ({
    group,
    check: name,
    ...defined({ fault }),
    ok,
    ms: context.environment.clock.now() - began,
    ...defined({ detail }),
  });
  try {
    await run();
    return toResult(true);
  } catch (error) {
    if (error instanceof NonconformityError || error instanceof CommandError) {
      return toResult(false, error.message);
    }
    throw error;
  }
}

export function formatReport(context: CommandContext, results: readonly CheckResult[]): string {
  const { output } = context;
  const table = output.formatTable<CheckResult>(
    [
      { title: '', value: ({ ok }) => (ok ? 'ok' : 'FAILS'), neverTruncate: true },
      { title: 'ABOUT', value: ({ group }) => group, neverTruncate: true },
      { title: 'CHECK', value: ({ check }) => check },
      { title: 'MS', value: ({ ms }) => ms, neverTruncate: true },
    ],
    results,
  );
  const failed = results.filter(({ ok }) => !ok);
  const details = failed
    .map(({ check, fault, detail }) => output.formatMembers({ [fault ?? check]: detail }))
    .join('');
  const summary = `${results.length - failed.length} of ${results.length} checks passed.\n`;
  return `${table}${failed.length === 0 ? '' : `\n${details}`}\n${summary}`;
}
