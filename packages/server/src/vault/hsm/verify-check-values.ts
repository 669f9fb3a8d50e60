// Compares the check values of an HSM's keys with the key table before their first use.
import type { Log } from '../../platform/index.ts';
import { HsmError, type KeyFacts } from './hsm-types.ts';
import { type KeyEntry, type KeyTable, KeyTableFault } from './key-table.ts';

export type VerifiedKeys = {
  /**
   * Refuses to start with a key that differs from the table. If the HSM does not answer, it logs an
   * error and compares the keys before their first use.
   *
   * @throws KeyTableFault
   */
  start(): Promise<void>;
  /** @throws HsmError `KeyNotFound` if the HSM's key differs from the table */
  demand(entry: KeyEntry): Promise<void>;
};

type Deps = {
  readonly table: KeyTable;
  readonly log: Log;
  readonly ask: (entry: KeyEntry) => Promise<KeyFacts>;
};

/** The number of keys to compare in parallel. */
const askedAtOnce = 8;

const isUnreachable = (error: unknown): boolean =>
  error instanceof HsmError && (error.code === 'HsmUnavailable' || error.code === 'HsmBusy');

function differenceOf(entry: KeyEntry, facts: KeyFacts): string | undefined {
  if (facts.checkValue !== entry.checkValue) return 'has another check value';
  if (facts.usage !== entry.usage) return `is for ${facts.usage}`;
  if (facts.algorithm !== entry.algorithm) return `is of ${facts.algorithm}`;
  return undefined;
}

/** @example const keys = createVerifiedKeys({ table, log, ask: (entry) => factsOf(entry.reference) }); */
export function createVerifiedKeys({ table, log, ask }: Deps): VerifiedKeys {
  const verified = new Set<string>();

  async function compare(entry: KeyEntry): Promise<string | undefined> {
    const difference = differenceOf(entry, await ask(entry));
    if (difference === undefined) verified.add(entry.name);
    return difference;
  }

  async function compareAtStart(entry: KeyEntry): Promise<string | undefined> {
    try {
      const difference = await compare(entry);
      return difference === undefined ? undefined : `the key ${entry.name} ${difference}`;
    } catch (error) {
      if (isUnreachable(error)) throw error;
      const why = error instanceof HsmError ? error.message : String(error);
      return `the key ${entry.name} cannot be asked for (${why})`;
    }
  }

  return {
    async start() {
      const faults: string[] = [];
      try {
        for (let at = 0; at < table.entries.length; at += askedAtOnce) {
          const some = table.entries.slice(at, at + askedAtOnce);
          const told = await Promise.all(some.map(compareAtStart));
          faults.push(...told.filter((fault) => fault !== undefined));
        }
      } catch (error) {
        if (!isUnreachable(error)) throw error;
        log.error({ err: error }, 'the HSM does not answer: its keys are compared when it does');
      }
      if (faults.length > 0) throw new KeyTableFault(`The HSM and its table: ${faults.join('; ')}`);
    },
    async demand(entry) {
      if (verified.has(entry.name)) return;
      const difference = await compare(entry);
      if (difference !== undefined) throw new HsmError('KeyNotFound', `the key ${difference}`);
    },
  };
}
