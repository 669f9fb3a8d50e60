// Numbers each message: terminal ids drawn from the contract's range, traces that outlive a crash.
import { refuse } from '@switchyard/contract';
import type { Clock, Database } from '../../platform/index.ts';
import { isoTime, jittered, pause } from '../../platform/index.ts';
import type { AcquirerReference } from '../spi/acquirer-spi.ts';
import { referenceAt, terminalIdAt } from './stan-and-terminal-id.ts';

export type TerminalRange = { from: string; to: string };

export type References = {
  /**
   * Allocates the next reference of a logical device, or of the contract for a sale without device.
   * Trace numbers are reserved in blocks, so a crash skips numbers and never repeats one.
   */
  next(request: {
    organizationId: string;
    contractId: string;
    holderId: string;
    /** Required only for the first message of a device or contract. */
    range?: TerminalRange;
    mti: string;
    timeZone: string;
    /** Epoch ms of an earlier event; it sets the local time. */
    doneAt?: number | undefined;
  }): Promise<AcquirerReference>;
};

type Block = { next: number; end: number };
type Terminal = Block & {
  terminalId: string;
  /** A prefetched block that does not follow directly, because another process reserved the numbers between. */
  following?: Block;
};
type Claimed = { terminalId: string; block: Block };

const traceBlockSize = 100;
const refillBelow = 20;
/** Each conflict means that another process claimed the terminal first. */
const claimAttemptsMax = 50;
/** The random delay grows, so that two processes do not conflict at each attempt. */
const claimPauseMostMs = 20;
const terminalsMax = 50_000;

const reserveTraces = {
  name: 'acquiring-reserve-traces',
  text: `UPDATE acquirer_terminals SET next_trace = next_trace + $4
    WHERE organization_id = $1 AND contract_id = $2 AND holder_id = $3
    RETURNING terminal_id, next_trace - $4 AS first`,
};

const countTerminals = {
  name: 'acquiring-count-terminals',
  text: `SELECT count(*)::int AS taken FROM acquirer_terminals
    WHERE organization_id = $1 AND contract_id = $2`,
};

const claimTerminal = {
  name: 'acquiring-claim-terminal',
  text: `INSERT INTO acquirer_terminals
      (organization_id, contract_id, terminal_id, holder_id, next_trace, created_at)
    VALUES ($1, $2, $3, $4, 1, $5) ON CONFLICT DO NOTHING RETURNING terminal_id`,
};

type Holder = {
  organizationId: string;
  contractId: string;
  holderId: string;
  range?: TerminalRange;
};

// The function is synchronous, so two callers never receive the same number.
function take(terminal: Terminal | undefined): number | undefined {
  if (terminal === undefined) return undefined;
  if (terminal.next >= terminal.end) {
    const { following } = terminal;
    if (following === undefined) return undefined;
    terminal.next = following.next;
    terminal.end = following.end;
    delete terminal.following;
  }
  const trace = terminal.next;
  terminal.next += 1;
  return trace;
}

function append(terminal: Terminal, block: Block): void {
  if (terminal.end === block.next) terminal.end = block.end;
  else terminal.following = block;
}

/** @example const reference = await references.next({ organizationId, contractId, holderId, … }); */
export function createReferences(deps: { database: Database; clock: Clock }): References {
  const { database, clock } = deps;
  const terminals = new Map<string, Terminal>();
  const fetching = new Map<string, Promise<void>>();
  /** The last pending claim of each contract. */
  const claims = new Map<string, Promise<unknown>>();

  async function reserve(holder: Holder): Promise<Claimed | undefined> {
    const [row] = await database.hot(reserveTraces, [
      holder.organizationId,
      holder.contractId,
      holder.holderId,
      traceBlockSize,
    ]);
    if (row === undefined) return undefined;
    const first = Number(row['first']);
    return {
      terminalId: String(row['terminal_id']),
      block: { next: first, end: first + traceBlockSize },
    };
  }

  async function claim(holder: Holder): Promise<Claimed> {
    const { range } = holder;
    if (range === undefined)
      throw new Error('the first message of a device or contract requires a terminal range');
    const key = [holder.organizationId, holder.contractId];
    for (let attempt = 0; attempt < claimAttemptsMax; attempt += 1) {
      const [row] = await database.hot(countTerminals, key);
      const terminalId = terminalIdAt(range, Number(row?.['taken']));
      if (terminalId === undefined) {
        refuse(
          'terminal_range_exhausted',
          'All terminal ids in the range of the acquirer contract are in use. Extend the range.',
        );
      }
      const at = isoTime(clock.now());
      await database.hot(claimTerminal, [...key, terminalId, holder.holderId, at]);
      const claimed = await reserve(holder);
      if (claimed !== undefined) return claimed;
      await pause(jittered(Math.min(attempt, claimPauseMostMs)));
    }
    return refuse('overloaded', 'Too many concurrent terminal id allocations. Retry the request.');
  }

  // Claims of a contract run one at a time: concurrent claims would try the same terminal id.
  function claimInTurn(holder: Holder): Promise<Claimed> {
    const { contractId } = holder;
    const before = claims.get(contractId) ?? Promise.resolve();
    const mine = before.then(() => claim(holder));
    const settled = mine
      .catch(() => undefined)
      .then(() => {
        if (claims.get(contractId) === settled) claims.delete(contractId);
      });
    claims.set(contractId, settled);
    return mine;
  }

  async function fetch(key: string, holder: Holder): Promise<void> {
    const { terminalId, block } = (await reserve(holder)) ?? (await claimInTurn(holder));
    const known = terminals.get(key);
    if (known !== undefined) return append(known, block);
    if (terminals.size >= terminalsMax) terminals.clear();
    terminals.set(key, { terminalId, ...block });
  }

  // Concurrent callers share one pending fetch.
  function fetched(key: string, holder: Holder): Promise<void> {
    let pending = fetching.get(key);
    if (pending === undefined) {
      pending = fetch(key, holder).finally(() => fetching.delete(key));
      fetching.set(key, pending);
    }
    return pending;
  }

  return {
    async next(request) {
      const key = `${request.contractId}|${request.holderId}`;
      for (;;) {
        const terminal = terminals.get(key);
        const trace = take(terminal);
        if (terminal === undefined || trace === undefined) {
          await fetched(key, request);
          continue;
        }
        // Prefetches the next block so that no sale waits. A later call reports a failure.
        if (terminal.end - terminal.next === refillBelow) fetched(key, request).catch(() => {});
        const { mti, timeZone, doneAt } = request;
        const { terminalId } = terminal;
        return referenceAt({ trace, terminalId, mti, timeZone, now: clock.now(), doneAt });
      }
    },
  };
}
