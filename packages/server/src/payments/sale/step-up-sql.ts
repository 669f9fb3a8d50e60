// SQL of step-ups: a declined sale has one.
import { type Clock, type Database, isoTime } from '../../platform/index.ts';

type DeclinedSaleKey = { organizationId: string; declinedTransactionId: string };

export type StepUpStore = {
  /**
   * Claims a declined sale for its one step-up. False when another sale than `takesOver` has claimed it.
   */
  claim(claim: DeclinedSaleKey & { claimedBy: string; takesOver?: string }): Promise<boolean>;
  /** The sale that claims it, and since when, epoch ms. */
  findClaim(declined: DeclinedSaleKey): Promise<{ claimedBy: string; at: number } | undefined>;
};

const claimStatement = {
  name: 'payments-claim-step-up',
  text: `INSERT INTO step_ups AS s (organization_id, declined_transaction_id, claimed_by, created_at)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (organization_id, declined_transaction_id)
      DO UPDATE SET claimed_by = excluded.claimed_by, created_at = excluded.created_at
      WHERE s.claimed_by = ANY ($5::text[])
    RETURNING declined_transaction_id`,
};

const findClaimText = `SELECT claimed_by, created_at FROM step_ups
  WHERE organization_id = $1 AND declined_transaction_id = $2`;

export function createStepUpStore({
  database,
  clock,
}: {
  database: Database;
  clock: Clock;
}): StepUpStore {
  return {
    async claim({ organizationId, declinedTransactionId, claimedBy, takesOver = claimedBy }) {
      const values = [organizationId, declinedTransactionId, claimedBy, isoTime(clock.now())];
      return (await database.hot(claimStatement, [...values, [claimedBy, takesOver]])).length > 0;
    },
    async findClaim({ organizationId, declinedTransactionId }) {
      const values = [organizationId, declinedTransactionId];
      const [row] = await database.query<{ claimed_by: string; created_at: Date }>(
        findClaimText,
        values,
      );
      return row && { claimedBy: row.claimed_by, at: row.created_at.getTime() };
    },
  };
}
