/** What a run of checks found, and how it is told. */
import { defined } from '@switchyard/contract';
import type { Kit } from '../command-line/command-runner.ts';
import { CommandFault } from '../runtime/command-error.ts';
import { NonconformityError } from './acquirer/acquirer-test-client.ts';

export type Named = {
  readonly group: string;
  readonly name: string;
  /** The word for what is wrong where it fails. */
  readonly fault?: string;
};

export type Result = {
  readonly group: string;
  readonly check: string;
  readonly fault?: string;
  readonly ok: boolean;
  readonly ms: number;
  readonly detail?: string;
};

/** A fault of the server is a finding; one of the command is thrown on. */
export async function resultOf(
  kit: Kit,
  { group, name, fault }: Named,
  run: () => Promise<void>,
): Promise<Result> {
  const began = kit.world.clock.now();
  const ended = (ok: boolean, detail?: string): Result => ({
    group,
    check: name,
    ...defined({ fault }),
    ok,
    ms: kit.world.clock.now() - began,
    ...defined({ detail }),
  });
  try {
    await run();
    return ended(true);
  } catch (error) {
    if (error instanceof NonconformityError || error instanceof CommandFault) {
      return ended(false, error.message);
    }
    throw error;
  }
}

export function report(kit: Kit, results: readonly Result[]): string {
  const { screen } = kit;
  const table = screen.table<Result>(
    [
      { title: '', of: ({ ok }) => (ok ? 'ok' : 'FAILS'), whole: true },
      { title: 'ABOUT', of: ({ group }) => group, whole: true },
      { title: 'CHECK', of: ({ check }) => check },
      { title: 'MS', of: ({ ms }) => ms, whole: true },
    ],
    results,
  );
  const failed = results.filter(({ ok }) => !ok);
  const why = failed
    .map(({ check, fault, detail }) => screen.members({ [fault ?? check]: detail }))
    .join('');
  const sum = `${results.length - failed.length} of ${results.length} checks hold.\n`;
  return `${table}${failed.length === 0 ? '' : `\n${why}`}\n${sum}`;
}
