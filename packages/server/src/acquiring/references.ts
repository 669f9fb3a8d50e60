// Numbers each message: terminal ids drawn from the contract's range, traces that outlive a crash.
import type { Clock, Database, Ids } from '../platform/index.ts';
import { isoTime } from '../platform/index.ts';
import { referenceAt, terminalIdAt } from './numbering.ts';
import type { AcquirerReference } from './types.ts';

export type TerminalRange = { from: string; to: string };

export type References = {
  /**
   * The next reference of a holder (a logical device, or the contract itself for a sale without
   * one). Reserves trace numbers in blocks, so a crash skips some and repeats none.
   */
  next(request: {
    organizationId: string;
    contractId: string;
    holderId: string;
    /** Needed for a holder's first message only. */
    range?: TerminalRange;
    mti: string;
    timeZone: string;
  }): Promise<AcquirerReference>;
};

type Terminal = { terminalId: string; next: number; end: number; refill?: Promise<void> };

const traceBlockSize = 100;
const refillBelow = 20;
const claimAttemptsMax = 50;
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

export class TerminalRangeExhausted extends Error {}

/** @example const reference = await references.next({ organizationId, contractId, holderId, … }); */
export function createReferences(deps: { database: Database; clock: Clock; ids: Ids }): References {
  const { database, clock } = deps;
  const terminals = new Map<string, Terminal>();
  const starting = new Map<string, Promise<Terminal>>();

  type Holder = {
    organizationId: string;
    contractId: string;
    holderId: string;
    range?: TerminalRange;
  };

  async function reserve(
    holder: Holder,
  ): Promise<{ terminalId: string; first: number } | undefined> {
    const [row] = await database.hot(reserveTraces, [
      holder.organizationId,
      holder.contractId,
      holder.holderId,
      traceBlockSize,
    ]);
    if (row === undefined) return undefined;
    const { terminal_id: terminalId, first } = row as { terminal_id: string; first: number };
    return { terminalId, first: Number(first) };
  }

  async function claim(holder: Holder): Promise<void> {
    const key = [holder.organizationId, holder.contractId];
    const [row] = await database.hot(countTerminals, key);
    const taken = (row as { taken: number }).taken;
    for (let attempt = 0; attempt < claimAttemptsMax; attempt += 1) {
      const terminalId = holder.range && terminalIdAt(holder.range, taken + attempt);
      if (terminalId === undefined) throw new TerminalRangeExhausted(holder.contractId);
      const made = await database.hot(claimTerminal, [
        ...key,
        terminalId,
        holder.holderId,
        isoTime(clock.now()),
      ]);
      if (made.length > 0 || (await reserve(holder)) !== undefined) return;
    }
    throw new TerminalRangeExhausted(holder.contractId);
  }

  async function start(holder: Holder): Promise<Terminal> {
    let block = await reserve(holder);
    if (block === undefined) {
      await claim(holder);
      block = await reserve(holder);
    }
    if (block === undefined) throw new TerminalRangeExhausted(holder.contractId);
    return { terminalId: block.terminalId, next: block.first, end: block.first + traceBlockSize };
  }

  async function terminalOf(key: string, holder: Holder): Promise<Terminal> {
    const known = terminals.get(key);
    if (known !== undefined && known.next < known.end) return known;
    let pending = starting.get(key);
    if (pending === undefined) {
      pending = start(holder).finally(() => starting.delete(key));
      starting.set(key, pending);
    }
    const terminal = await pending;
    if (terminals.size >= terminalsMax && !terminals.has(key)) terminals.clear();
    terminals.set(key, terminal);
    return terminal.next < terminal.end ? terminal : terminalOf(key, holder);
  }

  return {
    async next(request) {
      const key = `${request.contractId}|${request.holderId}`;
      const terminal = await terminalOf(key, request);
      const trace = terminal.next;
      terminal.next += 1;
      if (terminal.end - terminal.next === refillBelow) void refill(terminals, key, request);
      return referenceAt({
        trace,
        terminalId: terminal.terminalId,
        mti: request.mti,
        timeZone: request.timeZone,
        now: clock.now(),
      });
    },
  };

  // Fetches the next block ahead of need, so that no sale waits for it.
  async function refill(known: Map<string, Terminal>, key: string, holder: Holder): Promise<void> {
    const block = await reserve(holder).catch(() => undefined);
    const terminal = known.get(key);
    if (block === undefined || terminal === undefined) return;
    if (terminal.end === block.first) terminal.end = block.first + traceBlockSize;
  }
}
