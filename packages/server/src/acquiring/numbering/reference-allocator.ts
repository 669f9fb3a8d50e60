// Numbers each message: terminal ids from the contract's range, and trace numbers that survive a crash.
import { throwProblem } from '@switchyard/contract';
import {
  type Clock,
  createKeyedTasks,
  type Database,
  isoTime,
  type Numbering,
  pause,
  withJitter,
} from '../../platform/index.ts';
import type { AcquirerReference, AcquirerRequestKind, NumberFormats } from '../spi/acquirer-spi.ts';
import { createLinkNumbers } from './link-numbers.ts';
import { buildReference, terminalIdAt } from './message-reference.ts';

type TerminalOwner = {
  organizationId: string;
  contractId: string;
  /** The logical device, or the contract for a sale without one. */
  terminalOwnerId: string;
  /** Required only for the first message of a device or contract. */
  range?: { from: string; to: string };
};

type ReferenceRequest = TerminalOwner & {
  linkId: string;
  kind: AcquirerRequestKind;
  timeZone: string;
  /** Epoch ms of an earlier event, such as an offline sale; it sets the local time. */
  occurredAt?: number | undefined;
};

type StanBlock = { next: number; end: number };
type ClaimedTerminal = StanBlock & { terminalId: string };
type Terminal = ClaimedTerminal & {
  /** A prefetched block that does not follow directly, because another process reserved the numbers between. */
  nextBlock?: StanBlock;
};

const stanBlockSize = 100;
const refillThreshold = 20;
/** Each conflict means that another process claimed the terminal first. */
const maxClaimAttempts = 50;
/** The random delay grows, so that two processes do not conflict at each attempt. */
const maxClaimPauseMs = 20;
const maxCachedTerminals = 50_000;
/**
 * After a fail-over trace numbers continue this much later: more than a terminal uses in the part of the log that
 * may be lost. The golden section of the 999,999 trace numbers keeps repeated jumps far from each other.
 */
const stanJump = 381_967;

const reserveStanBlockSql = {
  name: 'acquiring-reserve-stan-block',
  text: `UPDATE acquirer_terminals SET next_stan = next_stan + $4
    WHERE organization_id = $1 AND contract_id = $2 AND terminal_owner_id = $3
    RETURNING terminal_id AS "terminalId", next_stan - $4 AS next, next_stan AS "end"`,
};

const countTerminalsSql = {
  name: 'acquiring-count-terminals',
  text: `SELECT count(*)::int AS taken FROM acquirer_terminals
    WHERE organization_id = $1 AND contract_id = $2`,
};

const claimTerminalSql = {
  name: 'acquiring-claim-terminal',
  text: `INSERT INTO acquirer_terminals
      (organization_id, contract_id, terminal_id, terminal_owner_id, next_stan, created_at)
    VALUES ($1, $2, $3, $4, 1, $5) ON CONFLICT DO NOTHING RETURNING terminal_id`,
};

// The function is synchronous, so two callers never receive the same number.
function takeStan(terminal: Terminal | undefined): number | undefined {
  if (terminal === undefined) return undefined;
  if (terminal.next >= terminal.end) {
    if (terminal.nextBlock === undefined) return undefined;
    Object.assign(terminal, terminal.nextBlock);
    delete terminal.nextBlock;
  }
  terminal.next += 1;
  return terminal.next - 1;
}

function appendBlock(terminal: Terminal, { next, end }: StanBlock): void {
  if (terminal.end === next) terminal.end = end;
  else terminal.nextBlock = { next, end };
}

export function createReferenceAllocator({
  database,
  clock,
  numbering,
  findNumberFormats,
}: {
  database: Database;
  clock: Clock;
  numbering: Numbering;
  /** Returns undefined for the formats of the canonical messages. */
  findNumberFormats(linkId: string): NumberFormats | undefined;
}) {
  const terminals = new Map<string, Terminal>();
  const linkNumbers = createLinkNumbers({ database, numbering });
  const fetches = createKeyedTasks<void>();
  let jumps = numbering.jumps();

  /** Blocks that were reserved before a jump are invalid: the database may reserve them again. */
  function dropBlocksAfterJump(): void {
    if (jumps === numbering.jumps()) return;
    jumps = numbering.jumps();
    terminals.clear();
    linkNumbers.drop();
  }

  async function reserveBlock(owner: TerminalOwner): Promise<ClaimedTerminal | undefined> {
    const { organizationId, contractId, terminalOwnerId } = owner;
    const values = [organizationId, contractId, terminalOwnerId, stanBlockSize];
    const [terminal] = await database.hot<ClaimedTerminal>(reserveStanBlockSql, values);
    if (terminal === undefined) return undefined;
    const jumped = numbering.jumps() * stanJump;
    return { ...terminal, next: terminal.next + jumped, end: terminal.end + jumped };
  }

  async function claimTerminal(owner: TerminalOwner): Promise<ClaimedTerminal> {
    const { organizationId, contractId, terminalOwnerId, range } = owner;
    if (range === undefined)
      throw new Error('the first message of a device or contract requires a terminal range');
    for (let attempt = 0; attempt < maxClaimAttempts; attempt += 1) {
      const key = [organizationId, contractId];
      const [row] = await database.hot<{ taken: number }>(countTerminalsSql, key);
      const terminalId = terminalIdAt(range, row?.taken ?? 0);
      if (terminalId === undefined) {
        const detail = 'All terminal ids in the range of the acquirer contract are in use.';
        throwProblem('terminal_range_exhausted', `${detail} Extend the range.`);
      }
      const values = [...key, terminalId, terminalOwnerId, isoTime(clock.now())];
      await database.hot(claimTerminalSql, values);
      const claimed = await reserveBlock(owner);
      if (claimed !== undefined) return claimed;
      await pause(withJitter(Math.min(attempt, maxClaimPauseMs)));
    }
    return throwProblem(
      'overloaded',
      'Too many concurrent terminal id allocations. Retry the request.',
    );
  }

  async function fetchBlock(key: string, owner: TerminalOwner): Promise<void> {
    const jumpsBefore = numbering.jumps();
    // Claims of a contract run one at a time: concurrent claims would try the same terminal id.
    const claimed =
      (await reserveBlock(owner)) ??
      (await fetches.runExclusive(owner.contractId, () => claimTerminal(owner)));
    // The block may be of the database before the jump.
    if (jumpsBefore !== numbering.jumps()) return;
    dropBlocksAfterJump();
    const cached = terminals.get(key);
    if (cached !== undefined) return appendBlock(cached, claimed);
    if (terminals.size >= maxCachedTerminals) terminals.clear();
    terminals.set(key, claimed);
  }

  // Concurrent callers share one pending fetch.
  const fetchBlockOnce = (key: string, owner: TerminalOwner): Promise<void> =>
    fetches.find(key) ?? fetches.run(key, () => fetchBlock(key, owner));

  return {
    /**
     * Allocates the next reference of a logical device, or of the contract for a sale without device.
     * Trace numbers are reserved in blocks, so a crash skips numbers and never repeats one.
     *
     * @throws ProblemError recovery_required, terminal_range_exhausted
     */
    async allocate(request: ReferenceRequest): Promise<AcquirerReference> {
      const key = `${request.contractId}|${request.terminalOwnerId}`;
      for (;;) {
        numbering.requireAvailable();
        dropBlocksAfterJump();
        const terminal = terminals.get(key);
        const terminalNumber = takeStan(terminal);
        if (terminal === undefined || terminalNumber === undefined) {
          await fetchBlockOnce(key, request);
          continue;
        }
        // Prefetches the next block so that no sale waits. A later call reports a failure.
        if (terminal.end - terminal.next === refillThreshold)
          fetchBlockOnce(key, request).catch(() => {});
        const { organizationId, linkId } = request;
        const linkNumber = await linkNumbers.next(organizationId, linkId);
        const numbers = { terminalId: terminal.terminalId, terminalNumber, linkNumber };
        return buildReference(request, numbers, clock.now(), findNumberFormats(linkId));
      }
    },
  };
}
