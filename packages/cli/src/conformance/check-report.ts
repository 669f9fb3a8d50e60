/** Runs conformance checks and formats their results. */
import { defined } from '@switchyard/contract';
import type { CommandContext } from '../command-line/command-runner.ts';
import { UnreachableError } from '../http/https-transport.ts';
import { CommandError } from '../runtime/command-error.ts';
import type { ExitName } from '../runtime/exit-codes.ts';
import { NonconformityError } from './nonconformity-error.ts';

type CheckName = {
  readonly group: string;
  readonly name: string;
  /** The code of the fault if the check fails. */
  readonly fault?: string;
};

type CheckResult = {
  readonly group: string;
  readonly check: string;
  readonly fault?: string;
  readonly ok: boolean;
  readonly ms: number;
  readonly detail?: string;
};

/** Returns a failed check for an error of the server, `undefined` if it cannot be reached; throws other errors. */
async function runCheck(
  context: CommandContext,
  { group, name, fault }: CheckName,
  run: () => Promise<void>,
): Promise<CheckResult | undefined> {
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
    if (error instanceof UnreachableError && !error.wasSent) return undefined;
    if (error instanceof NonconformityError || error instanceof CommandError) {
      return toResult(false, error.message);
    }
    throw error;
  }
}

function formatReport(context: CommandContext, results: readonly CheckResult[]): string {
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

/** Runs the checks one after another, because each changes the state of the server, and prints their results. */
export async function runChecks<Client>(
  context: CommandContext,
  url: URL,
  checks: readonly (CheckName & { run(client: Client): Promise<void> })[],
  client: Client,
): Promise<ExitName | undefined> {
  const results: CheckResult[] = [];
  for (const check of checks) {
    const result = await runCheck(context, check, () => check.run(client));
    if (result === undefined) break;
    results.push(result);
  }
  const failed = results.filter(({ ok }) => !ok).length;
  const skipped = checks.length - results.length;
  const outcome = { url: url.href, passed: results.length - failed, failed, checks: results };
  context.output.printResult(outcome, () => formatReport(context, results));
  if (skipped > 0) {
    const last = results.at(-1)?.check ?? 'the first check';
    context.output.printNote(
      `The server stopped at or after “${last}”: ${skipped} of ${checks.length} checks did not run. Restart it and read its log.`,
    );
  }
  return failed === 0 && skipped === 0 ? undefined : 'notConforming';
}
