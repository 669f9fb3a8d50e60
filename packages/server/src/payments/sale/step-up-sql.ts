// SQL of step-ups: a declined sale has one.
import { type Clock, type Database, isoTime } from '../../platform/index.ts';

export type DeclinedSaleKey = { organizationId: string; declinedId: string };

export type StepUpStore = {
  /**
   * Claims a declined sale for its one step-up. False when another sale than `takesOver` has claimed it.
   */
  claim(claim: DeclinedSaleKey & { takenBy: string; takesOver?: string }): Promise<boolean>;
  /** The sale that claims it, and since when, epoch ms. */
  findClaim(declined: DeclinedSaleKey): Promise<{ takenBy: string; at: number } | undefined>;
};

const claimStatement = {
  name: 'payments-step-up',
  text: `INSERT INTO step_ups AS s (organization_id, declined_id, taken_by, created_at)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (organization_id, declined_id)
      DO UPDATE SET taken_by = excluded.taken_by, created_at = excluded.created_at
      WHERE s.taken_by = ANY ($5::text[])
    RETURNING declined_id`,
};

const findClaimText = `SELECT taken_by, created_at FROM step_ups
  WHERE organization_id = $1 AND declined_id = $2`;

/** @example const isClaimed = await stepUpStore.claim({ organizationId, declinedId, takenBy }); */
export function createStepUpStore({
  database,
  clock,
}: {
  database: Database;
  clock: Clock;
}): StepUpStore {
  return {
    async claim({ organizationId, declinedId, takenBy, takesOver = takenBy }) {
      const values = [organizationId, declinedId, takenBy, isoTime(clock.now())];
      return (await database.hot(claimStatement, [...values, [takenBy, takesOver]])).length > 0;
    },
    async findClaim({ organizationId, declinedId }) {
      const values = [organizationId, declinedId];
      const [row] = await database.query<{ taken_by: string; created_at: Date }>(
        findClaimText,
        values,
      );
      return row && { takenBy: row.taken_by, at: row.created_at.getTime() };
    },
  };
}
