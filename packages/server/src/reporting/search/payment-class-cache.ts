// Caches the classes of an organisation's payments; most filters select a set of classes.
import type { Clock } from '../../platform/index.ts';
import type { RunQuery } from '../infrastructure/run-query.ts';
import type { Group } from '../projection/reported-payment-types.ts';
import type { Words } from './search-filters.ts';

export type PaymentClass = Group & {
  readonly classId: number;
  readonly state: string;
  /** The current number of payments in the class. */
  readonly payments: number;
};

export const classesText = `SELECT c.class_id AS "classId", c.state, c.payments, g.kind, g.scheme,
    g.entry_mode AS "entryMode", g.category, g.reason, g.currency
  FROM report_classes c JOIN report_groups g ON g.organization_id = c.organization_id
    AND g.group_id = c.group_id
  WHERE c.organization_id = $1`;

const keptMs = 1_000;
const organizationsMax = 200;

type Kept = {
  readonly until: number;
  readonly classes: Promise<ReadonlyMap<number, PaymentClass>>;
};

export type Classes = {
  of(run: RunQuery, organizationId: string): Promise<ReadonlyMap<number, PaymentClass>>;
  forget(organizationId: string): void;
};

/** @example const all = await classes.of(run, organizationId); */
export function createClasses(clock: Clock): Classes {
  const kept = new Map<string, Kept>();

  async function read(run: RunQuery, organizationId: string) {
    const rows = await run<PaymentClass>(classesText, [organizationId]);
    return new Map(rows.map((row) => [row.classId, row]));
  }

  return {
    of(run, organizationId) {
      const known = kept.get(organizationId);
      const now = clock.now();
      if (known !== undefined && known.until > now) return known.classes;
      const classes = read(run, organizationId);
      kept.delete(organizationId);
      kept.set(organizationId, { until: now + keptMs, classes });
      classes.catch(() => kept.delete(organizationId));
      const [oldest] = kept.keys();
      if (kept.size > organizationsMax && oldest !== undefined) kept.delete(oldest);
      return classes;
    },
    forget: (organizationId) => void kept.delete(organizationId),
  };
}

const isIn = (words: readonly string[] | undefined, word: string): boolean =>
  words === undefined || words.includes(word);

export const matches = (words: Words, of: Group & { readonly state: string }): boolean =>
  (words.kind === undefined || words.kind === of.kind) &&
  isIn(words.scheme, of.scheme) &&
  isIn(words.currency, of.currency) &&
  isIn(words.responseCategory, of.category) &&
  isIn(words.entryMode, of.entryMode) &&
  isIn(words.state, of.state);
