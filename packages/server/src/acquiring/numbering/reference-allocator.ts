// Numbers each message: terminal ids drawn from the contract's range, traces that outlive a crash.
import { refuse } from '@switchyard/contract';
import type { Clock, Database } from '../../platform/index.ts';
import { isoTime, jittered, pause } from '../../platform/index.ts';
import type { AcquirerReference } from '../spi/acquirer-spi.ts';
import { buildReference, terminalIdAt } from './stan-and-terminal-id.ts';

export type TerminalRange = { from: string; to: string };

export type ReferenceAllocator = {
  /**
   * Allocates the next reference of a logical device, or of the contract for a sale without device.
   * Trace numbers are reserved in blocks, so a crash skips numbers and never repeats one.
   */
  allocate(request: {
    organizationId: string;
    contractId: string;
    terminalOwnerId: string;
    /** Required only for the first message of a device or contract. */
    range?: TerminalRange;
    mti: string;
    timeZone: string;
    /** Epoch ms of an earlier event; it sets the local time. */
    occurredAt?: number | undefined;
  }): Promise<AcquirerReference>;
};

type StanBlock = { next: number; end: number };
type Terminal = StanBlock & {
  terminalId: string;
  /** A prefetched block that does not follow directly, because another process reserved the numbers between. */
  nextBlock?: StanBlock;
};
type ClaimedTerminal = { terminalId: string; block: StanBlock };

const stanBlockSize = 100;
const refillThreshold = 20;
/** Each conflict means that another process claimed the terminal first. */
const maxClaimAttempts = 50;
/** The random delay grows, so that two processes do not conflict at each attempt. */
const maxClaimPauseMs = 20;
const maxCachedTerminals = 50_000;

const reserveStanBlockSql = {
  name: 'acquiring-reserve-traces',
  text: `UPDATE acquirer_terminals SET next_trace = next_trace + $4
    WHERE organization_id = $1 AND contract_id = $2 AND holder_id = $3
    RETURNING terminal_id, next_trace - $4 AS first`,
};

const countTerminalsSql = {
  name: 'acquiring-count-terminals',
  text: `SELECT count(*)::int AS taken FROM acquirer_terminals
    WHERE organization_id = $1 AND contract_id = $2`,
};

const claimTerminalSql = {
  name: 'acquiring-claim-terminal',
  text: `INSERT INTO acquirer_terminals
      (organization_id, contract_id, terminal_id, holder_id, next_trace, created_at)
    VALUES ($1, $2, $3, $4, 1, $5) ON CONFLICT DO NOTHING RETURNING terminal_id`,
};

type TerminalOwner = {
  organizationId: string;
  contractId: string;
  terminalOwnerId: string;
  range?: TerminalRange;
};

// The function is synchronous, so two callers never receive the same number.
function takeStan(terminal: Terminal | undefined): number | undefined {
  if (terminal === undefined) return undefined;
  if (terminal.next >= terminal.end) {
    const { nextBlock: following } = terminal;
    if (following === undefined) return undefined;
    terminal.next = following.next;
    terminal.end = following.end;
    delete terminal.nextBlock;
  }
  const traceNumber = terminal.next;
  terminal.next += 1;
  return traceNumber;
}

function appendBlock(terminal: Terminal, block: StanBlock): void {
  if (terminal.end === block.next) terminal.end = block.end;
  else terminal.nextBlock = block;
}

/** @example const reference = await references.next({ organizationId, contractId, holderId, … }); */
export function createReferenceAllocator(deps: {
  database: Database;
  clock: Clock;
}): ReferenceAllocator {
  const { database, clock } = deps;
  const terminals = new Map<string, Terminal>();
  const pendingFetches = new Map<string, Promise<void>>();
  /** The last pending claim of each contract. */
  const pendingClaims = new Map<string, Promise<unknown>>();

  async function reserveBlock(owner: TerminalOwner): Promise<ClaimedTerminal | undefined> {
    const [row] = await database.hot(reserveStanBlockSql, [
      owner.organizationId,
      owner.contractId,
      owner.terminalOwnerId,
      stanBlockSize,
    ]);
    if (row === undefined) return undefined;
    const first = Number(row['first']);
    return {
      terminalId: String(row['terminal_id']),
      block: { next: first, end: first + stanBlockSize },
    };
  }

  async function claimNextTerminal(owner: TerminalOwner): Promise<ClaimedTerminal> {
    const { range } = owner;
    if (range === undefined)
      throw new Error('the first message of a device or contract requires a terminal range');
    const contractKey = [owner.organizationId, owner.contractId];
    for (let attempt = 0; attempt < maxClaimAttempts; attempt += 1) {
      const [row] = await database.hot(countTerminalsSql, contractKey);
      const terminalId = terminalIdAt(range, Number(row?.['taken']));
      if (terminalId === undefined) {
        refuse(
          'terminal_range_exhausted',
          'All terminal ids in the range of the acquirer contract are in use. Extend the range.',
        );
      }
      const createdAt = isoTime(clock.now());
      await database.hot(claimTerminalSql, [
        ...contractKey,
        terminalId,
        owner.terminalOwnerId,
        createdAt,
      ]);
      const claimed = await reserveBlock(owner);
      if (claimed !== undefined) return claimed;
      await pause(jittered(Math.min(attempt, maxClaimPauseMs)));
    }
    return refuse('overloaded', 'Too many concurrent terminal id allocations. Retry the request.');
  }

  // Claims of a contract run one at a time: concurrent claims would try the same terminal id.
  function claimExclusively(owner: TerminalOwner): Promise<ClaimedTerminal> {
    const { contractId } = owner;
    const previousClaim = pendingClaims.get(contractId) ?? Promise.resolve();
    const ownClaim = previousClaim.then(() => claimNextTerminal(owner));
    const finished = ownClaim
      .catch(() => undefined)
      .then(() => {
        if (pendingClaims.get(contractId) === finished) pendingClaims.delete(contractId);
      });
    pendingClaims.set(contractId, finished);
    return ownClaim;
  }

  async function fetchBlock(key: string, owner: TerminalOwner): Promise<void> {
    const { terminalId, block } = (await reserveBlock(owner)) ?? (await claimExclusively(owner));
    const cached = terminals.get(key);
    if (cached !== undefined) return appendBlock(cached, block);
    if (terminals.size >= maxCachedTerminals) terminals.clear();
    terminals.set(key, { terminalId, ...block });
  }

  // Concurrent callers share one pending fetch.
  function fetchBlockOnce(key: string, owner: TerminalOwner): Promise<void> {
    let pending = pendingFetches.get(key);
    if (pending === undefined) {
      pending = fetchBlock(key, owner).finally(() => pendingFetches.delete(key));
      pendingFetches.set(key, pending);
    }
    return pending;
  }

  return {
    async allocate(request) {
      const key = `${request.contractId}|${request.terminalOwnerId}`;
      for (;;) {
        const terminal = terminals.get(key);
        const traceNumber = takeStan(terminal);
        if (terminal === undefined || traceNumber === undefined) {
          await fetchBlockOnce(key, request);
          continue;
        }
        // Prefetches the next block so that no sale waits. A later call reports a failure.
        if (terminal.end - terminal.next === refillThreshold)
          fetchBlockOnce(key, request).catch(() => {});
        const { mti, timeZone, occurredAt: doneAt } = request;
        const { terminalId } = terminal;
        return buildReference({
          trace: traceNumber,
          terminalId,
          mti,
          timeZone,
          now: clock.now(),
          doneAt,
        });
      }
    },
  };
}
