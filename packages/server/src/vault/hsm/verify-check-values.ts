// Compares the check values of an HSM's keys with the key table before their first use.
import type { Log } from '../../platform/index.ts';
import { HsmError, type KeyFacts } from './hsm-types.ts';
import { type KeyEntry, type KeyTable, KeyTableError } from './key-table.ts';

export type KeyVerifier = {
  /**
   * Refuses to start with a key that differs from the table. If the HSM does not answer, it logs an
   * error and compares the keys before their first use.
   *
   * @throws KeyTableError
   */
  start(): Promise<void>;
  /** @throws HsmError `KeyNotFound` if the HSM's key differs from the table */
  requireVerified(entry: KeyEntry): Promise<void>;
};

type Deps = {
  readonly table: KeyTable;
  readonly log: Log;
  readonly fetchKeyFacts: (entry: KeyEntry) => Promise<KeyFacts>;
};

/** The number of keys to compare in parallel. */
const parallelKeys = 8;

const isUnreachable = (error: unknown): boolean =>
  error instanceof HsmError && (error.code === 'HsmUnavailable' || error.code === 'HsmBusy');

function findDifference(entry: KeyEntry, facts: KeyFacts): string | undefined {
  if (facts.checkValue !== entry.checkValue) return 'has another check value';
  if (facts.usage !== entry.usage) return `is for ${facts.usage}`;
  if (facts.algorithm !== entry.algorithm) return `is of ${facts.algorithm}`;
  return undefined;
}

/** @example const keys = createKeyVerifier({ table, log, fetchKeyFacts: (entry) => factsOf(entry.reference) }); */
export function createKeyVerifier({ table, log, fetchKeyFacts }: Deps): KeyVerifier {
  const verified = new Set<string>();

  async function compare(entry: KeyEntry): Promise<string | undefined> {
    const difference = findDifference(entry, await fetchKeyFacts(entry));
    if (difference === undefined) verified.add(entry.name);
    return difference;
  }

  async function compareAtStart(entry: KeyEntry): Promise<string | undefined> {
    try {
      const difference = await compare(entry);
      return difference === undefined ? undefined : `the key ${entry.name} ${difference}`;
    } catch (error) {
      if (isUnreachable(error)) throw error;
      const reason = error instanceof HsmError ? error.message : String(error);
      return `the key ${entry.name} cannot be read from the HSM (${reason})`;
    }
  }

  return {
    async start() {
      const faults: string[] = [];
      try {
        for (let at = 0; at < table.entries.length; at += parallelKeys) {
          const part = table.entries.slice(at, at + parallelKeys);
          const results = await Promise.all(part.map(compareAtStart));
          faults.push(...results.filter((fault) => fault !== undefined));
        }
      } catch (error) {
        if (!isUnreachable(error)) throw error;
        log.error(
          { err: error },
          'the HSM does not respond: its keys are verified before their first use',
        );
      }
      if (faults.length > 0) throw new KeyTableError(`The HSM and its table: ${faults.join('; ')}`);
    },
    async requireVerified(entry) {
      if (verified.has(entry.name)) return;
      const difference = await compare(entry);
      if (difference !== undefined) throw new HsmError('KeyNotFound', `the key ${difference}`);
    },
  };
}
