/** Presence that stays true while it is looked at: what has changed is asked for again and again. */
import type { ConnectedDevice, DeviceConnection, DeviceCounts } from '@switchyard/contract';

export type Within = {
  readonly merchantId?: string | undefined;
  readonly storeId?: string | undefined;
};

type Changes = { readonly items: readonly ConnectedDevice[]; readonly nextCursor: string | null };

export type ReadLive = {
  counts(): Promise<DeviceCounts>;
  changes(since: string, cursor: string | undefined): Promise<Changes>;
};

export type Live = {
  readonly counts: DeviceCounts;
  readonly connections: ReadonlyMap<string, DeviceConnection>;
  /** Grows where more came than can be held: the list is to be read anew. */
  readonly generation: number;
};

/** A change is noted by the clock of one process and read by that of another. */
const overlapMs = 5_000;
/** 1,000 devices that came or went within one pause. */
const pagesMost = 5;
const heldMost = 5_000;

/** @param before what was known, if anything was */
export async function readLive(read: ReadLive, before: Live | undefined): Promise<Live> {
  const counts = await read.counts();
  if (before === undefined) return { counts, connections: new Map(), generation: 0 };
  const since = new Date(Date.parse(before.counts.at) - overlapMs).toISOString();
  const connections = new Map(before.connections);
  let cursor: string | undefined;
  for (let page = 0; page < pagesMost; page += 1) {
    const { items, nextCursor } = await read.changes(since, cursor);
    for (const { physicalDeviceId, connection } of items) {
      connections.set(physicalDeviceId, connection);
    }
    if (nextCursor === null && connections.size <= heldMost) {
      return { counts, connections, generation: before.generation };
    }
    if (nextCursor === null) break;
    cursor = nextCursor;
  }
  return { counts, connections: new Map(), generation: before.generation + 1 };
}
