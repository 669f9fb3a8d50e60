// Deletes unused cards of an organisation, and encrypts cards under an old key again.
import { ProblemError } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import { type Clock, type Database, isoTime, type Log } from '../platform/index.ts';
import { type createCardStore, deleteCards, resealCards, type SealedCard } from './card-sql.ts';
import type { DataKeys } from './data-keys.ts';
import { sealEnvelope } from './envelope-encryption.ts';
import { KeyProviderFault } from './key-providers/open-key-provider.ts';
import { createRoundStore, type Round } from './re-encryption-progress-sql.ts';

const dayMs = 86_400_000;
const cardsAtOnce = 500;

/** Writes the audit record with the platform as the author. */
export type Tell = (
  trx: Kysely<unknown>,
  change: {
    organizationId: string;
    action: string;
    entity: { type: string; id: string };
    after: object;
  },
) => Promise<void>;

export type RoundDeps = {
  database: Database;
  cardStore: ReturnType<typeof createCardStore>;
  /** Decrypts a card to bytes that the caller zeroes. */
  reopen(organizationId: string, card: SealedCard): Promise<Buffer>;
  dataKeys(): DataKeys;
  clock: Clock;
  log: Log;
  tell: Tell;
  retentionDays: number;
};

type Resealed = { token: string; sealed: Buffer; before: Buffer; keyId: string };

/**
 * A round continues where a process stopped, because each part and its progress are one commit.
 *
 * @returns the round after it has read every card, or undefined if it was stopped
 */
export function createRounds(deps: RoundDeps) {
  const { database, cardStore, clock, log, tell, retentionDays } = deps;
  const rounds = createRoundStore(database);

  /**
   * Encrypts the cards of one part again under the active key, and counts cards that do not
   * decrypt.
   */
  async function resealed(
    organizationId: string,
    cards: readonly SealedCard[],
    round: Round,
  ): Promise<Resealed[]> {
    const done: Resealed[] = [];
    for (const card of cards) {
      try {
        const text = await deps.reopen(organizationId, card);
        const place = { organizationId, within: `card|${card.token}` };
        const made = await deps.dataKeys().withActive(organizationId, ({ keyId, bytes }) => ({
          keyId,
          sealed: sealEnvelope(bytes, keyId, place, text),
        }));
        text.fill(0);
        done.push({ token: card.token, before: card.sealed, ...made });
      } catch (error) {
        // The card is not at fault: the job retries the round when the keys are available.
        if (error instanceof ProblemError || error instanceof KeyProviderFault) throw error;
        round.tally.broken += 1;
        log.error(
          { err: error, organizationId, token: card.token },
          'a sealed card cannot be opened',
        );
      }
    }
    return done;
  }

  async function part(organizationId: string, round: Round, activeId: string) {
    const cards = await cardStore.walk(organizationId, round.walkedTo, cardsAtOnce);
    const last = cards.at(-1);
    if (last === undefined) return false;
    const unusedSince = round.startedAt - retentionDays * dayMs;
    const unused = cards.filter(({ usedAt }) => usedAt < unusedSince);
    const stale = cards.filter(({ keyId, usedAt }) => usedAt >= unusedSince && keyId !== activeId);
    for (const { keyId = 'none' } of stale) {
      round.tally.found[keyId] = (round.tally.found[keyId] ?? 0) + 1;
    }
    const sealed =
      stale.length === 0
        ? []
        : await cardStore.sealed(
            organizationId,
            stale.map(({ token }) => token),
          );
    const anew = await resealed(organizationId, sealed, round);
    round.walkedTo = last.token;
    await database.transaction(async (trx) => {
      // If the transaction is retried, it must not add its counts twice.
      const tally = { ...round.tally };
      if (anew.length > 0) tally.resealed += await resealCards(trx, organizationId, anew);
      if (unused.length > 0) {
        const gone = unused.map(({ token }) => token);
        const deleted = await deleteCards(trx, organizationId, gone, isoTime(unusedSince));
        tally.deleted += deleted;
        if (deleted > 0) {
          await tell(trx, {
            organizationId,
            action: 'vault.cardsDeleted',
            entity: { type: 'vault', id: organizationId },
            after: { deleted, unusedSince: isoTime(unusedSince) },
          });
        }
      }
      await rounds.save(trx, organizationId, { ...round, tally });
      round.tally = tally;
    });
    return cards.length === cardsAtOnce;
  }

  return {
    async walk(organizationId: string, signal: AbortSignal): Promise<Round | undefined> {
      const round = await rounds.begin(organizationId, clock.now());
      // Reads the active key from the database, because this process may still have the previous
      // one.
      deps.dataKeys().forgetActive(organizationId);
      const activeId = await deps.dataKeys().withActive(organizationId, ({ keyId }) => keyId);
      for (;;) {
        if (signal.aborted) return undefined;
        if (!(await part(organizationId, round, activeId))) return round;
      }
    },
    end: rounds.end,
  };
}
