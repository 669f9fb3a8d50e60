// Stores when a card was last used, to the week, so that the vault can delete unused cards.
import {
  type Clock,
  createGroupCommit,
  type Database,
  isoTime,
  type Log,
} from '../platform/index.ts';
import { touchCards } from './card-sql.ts';

const dayMs = 86_400_000;
/** A card in daily use is updated once in this time. */
const touchAfterMs = 7 * dayMs;
/** Close to its deletion, the vault must store the use of a card before the card is used. */
const lastDaysMs = touchAfterMs + dayMs;

type Use = { organizationId: string; token: string };

type Deps = { database: Database; clock: Clock; log: Log; retentionDays: number };

/** @example const stays = await uses.note({ organizationId, token }, usedAt); */
export function createUses({ database, clock, log, retentionDays }: Deps) {
  const retentionMs = retentionDays * dayMs;
  const touches = createGroupCommit<Use, boolean>({
    name: 'vault-use',
    key: ({ organizationId, token }) => organizationId + token,
    async run(rows) {
      const usedAt = isoTime(clock.now());
      const batch = rows.map(({ organizationId, token }) => ({
        organization_id: organizationId,
        token,
        used_at: usedAt,
      }));
      const found = await database.hot<{ token: string }>(touchCards, [JSON.stringify(batch)]);
      const touched = new Set(found.map(({ token }) => token));
      return rows.map(({ token }) => touched.has(token));
    },
  });

  return {
    retentionMs,
    /** Whether the vault must store a new use of a card with this last use. */
    isStale: (usedAt: number): boolean => clock.now() - usedAt > touchAfterMs,
    /**
     * Stores the use in the background. For a card close to its deletion it returns a promise,
     * which is false if the card was just deleted.
     */
    note(use: Use, usedAt: number): true | Promise<boolean> {
      const age = clock.now() - usedAt;
      if (age <= touchAfterMs) return true;
      const noted = touches.submit(use);
      if (age > retentionMs - lastDaysMs) return noted;
      noted.catch((error: unknown) => log.warn({ err: error }, 'the use of a card was not noted'));
      return true;
    },
    drain: () => touches.drain(),
  };
}
