// Remembers when a card was last used, to the week: what nobody uses any more is deleted.
import {
  type Clock,
  createGroupCommit,
  type Database,
  isoTime,
  type Log,
} from '../platform/index.ts';
import { touchCards } from './card-store.ts';

const dayMs = 86_400_000;
/** A card that is used every day is written once in so long. */
const touchAfterMs = 7 * dayMs;
/** From then on a card might be deleted between its use and the note of it: the note comes first. */
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
    /** Whether a use of a card that was last used then has to be noted. */
    isStale: (usedAt: number): boolean => clock.now() - usedAt > touchAfterMs,
    /**
     * Notes the use beside the work. Only for a card in its last days it is a promise: false where
     * the card was deleted a moment ago.
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
