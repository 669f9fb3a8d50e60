// Counts the messages of each link across all processes. A crash skips numbers and never repeats one.
import { createKeyedTasks, type Database, type Numbering } from '../../platform/index.ts';

type Block = { next: number; end: number };

const blockSize = 1000;
/**
 * After a fail-over the numbers continue this much later: more than a link uses in the part of the log that may be
 * lost. The golden section of a million keeps repeated jumps far from each other in six digits.
 */
const numberJump = 618_034;

const reserveNumbersSql = {
  name: 'acquiring-reserve-link-numbers',
  text: `INSERT INTO acquirer_link_numbers AS n (organization_id, acquirer_link_id, next_number)
    VALUES ($1, $2, 1 + $3)
    ON CONFLICT (organization_id, acquirer_link_id) DO UPDATE SET next_number = n.next_number + $3
    RETURNING next_number AS "end"`,
};

export function createLinkNumbers({
  database,
  numbering,
}: {
  database: Database;
  numbering: Numbering;
}) {
  const blocks = new Map<string, Block>();
  const fetches = createKeyedTasks<void>();

  async function fetchBlock(organizationId: string, linkId: string): Promise<void> {
    const jumps = numbering.jumps();
    const values = [organizationId, linkId, blockSize];
    const [row] = await database.hot<{ end: number }>(reserveNumbersSql, values);
    // The block may be of the database before the jump.
    if (row === undefined || jumps !== numbering.jumps()) return;
    const end = row.end + jumps * numberJump;
    blocks.set(linkId, { next: end - blockSize, end });
  }

  return {
    async next(organizationId: string, linkId: string): Promise<number> {
      for (;;) {
        const block = blocks.get(linkId);
        if (block !== undefined && block.next < block.end) {
          block.next += 1;
          return block.next - 1;
        }
        // Concurrent callers share one fetch.
        await (fetches.find(linkId) ??
          fetches.run(linkId, () => fetchBlock(organizationId, linkId)));
      }
    },
    /** Blocks that were reserved before a jump are invalid: the database may reserve them again. */
    drop: (): void => blocks.clear(),
  };
}
