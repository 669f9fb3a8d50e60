// Deletes unused cards of an organisation, and encrypts cards under an old key again.
import { ProblemError } from '@switchyard/contract';
import {
  type Clock,
  type Database,
  dayMs,
  isoTime,
  type Log,
  type Queries,
} from '../platform/index.ts';
import {
  type createCardStore,
  deleteCards,
  type EncryptedCard,
  replaceEncryptedCards,
} from './card-sql.ts';
import type { DataKeys } from './data-keys.ts';
import { KeyProviderError } from './key-providers/open-key-provider.ts';
import {
  createReEncryptionProgressStore,
  type ReEncryptionProgress,
} from './re-encryption-progress-sql.ts';
import { encryptRecord } from './record-encryption.ts';

const cardsPerPart = 500;

/** Writes the audit record with the platform as the author. */
export type RecordAudit = (
  trx: Queries,
  change: {
    organizationId: string;
    action: string;
    entity: { type: string; id: string };
    after: object;
  },
) => Promise<void>;

export type ReEncryptionDeps = {
  database: Database;
  cardStore: ReturnType<typeof createCardStore>;
  /** Decrypts a card to bytes that the caller zeroes. */
  decryptCard(organizationId: string, card: EncryptedCard): Promise<Buffer>;
  getDataKeys(): DataKeys;
  clock: Clock;
  log: Log;
  recordAudit: RecordAudit;
  retentionDays: number;
};

type ReEncryptedCard = { token: string; sealed: Buffer; before: Buffer; keyId: string };

/** A round continues where a process stopped, because each part and its progress are one commit. */
export function createReEncryptionRuns(deps: ReEncryptionDeps) {
  const { database, cardStore, clock, log, recordAudit, retentionDays } = deps;
  const progressStore = createReEncryptionProgressStore(database);

  /**
   * Encrypts the cards of one part again under the active key, and counts cards that do not
   * decrypt.
   */
  async function reEncryptCards(
    organizationId: string,
    cards: readonly EncryptedCard[],
    progress: ReEncryptionProgress,
  ): Promise<ReEncryptedCard[]> {
    const done: ReEncryptedCard[] = [];
    for (const card of cards) {
      try {
        const text = await deps.decryptCard(organizationId, card);
        const context = { organizationId, recordName: `card|${card.token}` };
        const encrypted = await deps
          .getDataKeys()
          .withActiveKey(organizationId, ({ keyId, bytes }) => ({
            keyId,
            sealed: encryptRecord(bytes, keyId, context, text),
          }));
        text.fill(0);
        done.push({ token: card.token, before: card.sealed, ...encrypted });
      } catch (error) {
        // The card is not at fault: the job retries the round when the keys are available.
        if (error instanceof ProblemError || error instanceof KeyProviderError) throw error;
        progress.counts.broken += 1;
        log.error(
          { err: error, organizationId, token: card.token },
          'an encrypted card cannot be decrypted',
        );
      }
    }
    return done;
  }

  async function processPart(
    organizationId: string,
    progress: ReEncryptionProgress,
    activeId: string,
  ) {
    const cards = await cardStore.listCardStates(organizationId, progress.lastToken, cardsPerPart);
    const last = cards.at(-1);
    if (last === undefined) return false;
    const unusedSince = progress.startedAt - retentionDays * dayMs;
    const unused = cards.filter(({ usedAt }) => usedAt < unusedSince);
    const stale = cards.filter(({ keyId, usedAt }) => usedAt >= unusedSince && keyId !== activeId);
    for (const { keyId = 'none' } of stale) {
      progress.counts.found[keyId] = (progress.counts.found[keyId] ?? 0) + 1;
    }
    const encryptedCards =
      stale.length === 0
        ? []
        : await cardStore.readEncrypted(
            organizationId,
            stale.map(({ token }) => token),
          );
    const reEncrypted = await reEncryptCards(organizationId, encryptedCards, progress);
    progress.lastToken = last.token;
    await database.transaction(async (trx) => {
      // If the transaction is retried, it must not add its counts twice.
      const counts = { ...progress.counts };
      if (reEncrypted.length > 0)
        counts.resealed += await replaceEncryptedCards(trx, organizationId, reEncrypted);
      if (unused.length > 0) {
        const unusedTokens = unused.map(({ token }) => token);
        const deleted = await deleteCards(trx, organizationId, unusedTokens, isoTime(unusedSince));
        counts.deleted += deleted;
        if (deleted > 0) {
          await recordAudit(trx, {
            organizationId,
            action: 'vault.cardsDeleted',
            entity: { type: 'vault', id: organizationId },
            after: { deleted, unusedSince: isoTime(unusedSince) },
          });
        }
      }
      await progressStore.save(trx, organizationId, { ...progress, counts });
      progress.counts = counts;
    });
    return cards.length === cardsPerPart;
  }

  return {
    /** @returns the round after it has read every card, or undefined if it was stopped */
    async run(
      organizationId: string,
      signal: AbortSignal,
    ): Promise<ReEncryptionProgress | undefined> {
      const progress = await progressStore.startOrResume(organizationId, clock.now());
      // Reads the active key from the database, because this process may still have the previous
      // one.
      deps.getDataKeys().clearActive(organizationId);
      const activeId = await deps.getDataKeys().withActiveKey(organizationId, ({ keyId }) => keyId);
      for (;;) {
        if (signal.aborted) return undefined;
        if (!(await processPart(organizationId, progress, activeId))) return progress;
      }
    },
    end: progressStore.end,
  };
}
