// Stores when a card was last used, to the week, so that the vault can delete unused cards.
import {
  type Clock,
  createGroupCommit,
  type Database,
  dayMs,
  isoTime,
  type Log,
} from '../platform/index.ts';
import { markCardsUsed } from './card-sql.ts';

/** A card in daily use is updated once in this time. */
const recordAfterMs = 7 * dayMs;
/** Close to its deletion, the vault must store the use of a card before the card is used. */
const nearDeletionMs = recordAfterMs + dayMs;

type UsedCard = { organizationId: string; token: string };

type Deps = { database: Database; clock: Clock; log: Log; retentionDays: number };

/** @example const isStored = await cardUsage.recordUse({ organizationId, token }, usedAt); */
export function createCardUsage({ database, clock, log, retentionDays }: Deps) {
  const retentionMs = retentionDays * dayMs;
  const usageWriter = createGroupCommit<UsedCard, boolean>({
    name: 'vault-use',
    key: ({ organizationId, token }) => organizationId + token,
    async run(rows) {
      const usedAt = isoTime(clock.now());
      const batch = rows.map(({ organizationId, token }) => ({
        organization_id: organizationId,
        token,
        used_at: usedAt,
      }));
      const updatedRows = await database.hot<{ token: string }>(markCardsUsed, [
        JSON.stringify(batch),
      ]);
      const updatedTokens = new Set(updatedRows.map(({ token }) => token));
      return rows.map(({ token }) => updatedTokens.has(token));
    },
  });

  return {
    retentionMs,
    /** Whether the vault must store a new use of a card with this last use. */
    isUseOutdated: (usedAt: number): boolean => clock.now() - usedAt > recordAfterMs,
    /**
     * Stores the use in the background. For a card close to its deletion it returns a promise,
     * which is false if the card was just deleted.
     */
    recordUse(use: UsedCard, usedAt: number): true | Promise<boolean> {
      const age = clock.now() - usedAt;
      if (age <= recordAfterMs) return true;
      const recorded = usageWriter.submit(use);
      if (age > retentionMs - nearDeletionMs) return recorded;
      recorded.catch((error: unknown) =>
        log.warn({ err: error }, 'the use of a card could not be stored'),
      );
      return true;
    },
    drain: () => usageWriter.drain(),
  };
}
