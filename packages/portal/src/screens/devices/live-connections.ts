/** Keeps connection states up to date by polling for changes. */
import type { ConnectedDevice, DeviceConnection, DeviceCounts } from '@switchyard/contract';

export type DeviceScope = {
  readonly merchantId?: string | undefined;
  readonly storeId?: string | undefined;
};

type Changes = { readonly items: readonly ConnectedDevice[]; readonly nextCursor: string | null };

export type ConnectionsApi = {
  counts(): Promise<DeviceCounts>;
  changes(since: string, cursor: string | undefined): Promise<Changes>;
};

export type LiveConnections = {
  readonly counts: DeviceCounts;
  readonly connections: ReadonlyMap<string, DeviceConnection>;
  /** Increases if too many devices changed, so the list must reload. */
  readonly generation: number;
};

/** Processes have different clocks, so requests overlap by this time. */
const overlapMs = 5_000;
/** At most 1,000 changed devices per poll. */
const pagesMost = 5;
const heldMost = 5_000;

/** @param before the previous state, if any */
export async function readLiveConnections(
  read: ConnectionsApi,
  before: LiveConnections | undefined,
): Promise<LiveConnections> {
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
