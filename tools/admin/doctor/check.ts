// A check of `switchyard admin doctor`: a function with a time limit, whose errors become findings.
import { ProblemError } from '@switchyard/contract';
import { redactText } from '../../../packages/server/src/platform/index.ts';

export type CheckResult = {
  readonly status: 'Ok' | 'Attention' | 'Skipped';
  readonly finding: string;
  /** What the operator can do. */
  readonly advice?: string;
};

export type Check = {
  readonly name: string;
  run(): Promise<readonly CheckResult[]> | readonly CheckResult[];
};

export type Finding = CheckResult & { readonly check: string };

const checkLimitMs = 15_000;

export const ok = (finding: string): CheckResult => ({ status: 'Ok', finding });
export const skipped = (finding: string): CheckResult => ({ status: 'Skipped', finding });
export const attention = (finding: string, advice: string): CheckResult => ({
  status: 'Attention',
  finding,
  advice,
});

/** The findings that need attention, or one that says that all is well. */
export const orOk = (faults: readonly CheckResult[], finding: string): readonly CheckResult[] =>
  faults.length === 0 ? [ok(finding)] : faults;

/** The message of an error, without card data and secrets. */
export function describeError(error: unknown): string {
  // The text of a problem is for clients of the API.
  if (error instanceof ProblemError && error.cause !== undefined) return describeError(error.cause);
  if (error instanceof AggregateError && error.message === '')
    return error.errors.map(describeError).join('; ');
  return redactText(error instanceof Error ? error.message : String(error));
}

/** Runs the checks at the same time. No check throws. */
export async function runChecks(
  checks: readonly Check[],
  limitMs = checkLimitMs,
): Promise<readonly Finding[]> {
  const results = checks.map(async (check) => {
    const checkResults = await runInTime(check, limitMs);
    return checkResults.map((result) => ({ check: check.name, ...result }));
  });
  return (await Promise.all(results)).flat();
}

async function runInTime({ run }: Check, limitMs: number): Promise<readonly CheckResult[]> {
  const timeout = Promise.withResolvers<readonly CheckResult[]>();
  const timer = setTimeout(() => {
    const finding = `no answer within ${limitMs / 1000} seconds`;
    timeout.resolve([attention(finding, 'Check the network and the load of this machine.')]);
  }, limitMs);
  try {
    return await Promise.race([run(), timeout.promise]);
  } catch (error) {
    const finding = `the check failed: ${describeError(error)}`;
    return [attention(finding, 'Correct the reason, and run the command again.')];
  } finally {
    clearTimeout(timer);
  }
}
